package io.tidegauge.worker.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AuthenticationFailureException;
import com.rabbitmq.client.ShutdownSignalException;
import com.rabbitmq.client.impl.AMQImpl;
import com.rabbitmq.stream.Constants;
import com.rabbitmq.stream.StreamException;
import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.RefusedException;
import java.io.IOException;
import java.net.ConnectException;
import org.junit.jupiter.api.Test;

/** What is made of the clients' failures. */
class FailuresTest {
  @Test
  void aStreamThatRefusesUsIsAMissingRight() {
    StreamException refused =
        new StreamException("access refused", Constants.RESPONSE_CODE_ACCESS_REFUSED);
    assertThat(Failures.describe("read stream t", refused))
        .hasMessage(
            "RabbitMQ could not read stream t: the user has no right to do that (access refused)")
        .isInstanceOfSatisfying(
            AccessException.class, e -> assertThat(e.isMissingRight()).isTrue());
  }

  @Test
  void aClosedChannelIsAnAnswerAndABrokenConnectionIsNone() {
    AMQImpl.Channel.Close close = new AMQImpl.Channel.Close(406, "PRECONDITION_FAILED", 50, 10);
    ShutdownSignalException said = new ShutdownSignalException(false, false, close, null);
    assertThat(Failures.describe("create the queues of t", new IOException(said)))
        .isInstanceOf(RefusedException.class)
        .hasMessage("RabbitMQ could not create the queues of t: PRECONDITION_FAILED");
    ShutdownSignalException broke = new ShutdownSignalException(true, false, null, null);
    assertThat(Failures.describe("create the queues of t", new IOException(broke)))
        .isExactlyInstanceOf(DriverException.class);
    assertThat(Failures.describe("be reached at host:5672", new ConnectException("refused")))
        .isExactlyInstanceOf(DriverException.class);
  }

  @Test
  void aWrongPasswordIsNoMissingRight() {
    assertThat(Failures.describe("connect", new AuthenticationFailureException("no")))
        .hasMessage("RabbitMQ could not connect: wrong password or unknown user (no)")
        .isInstanceOfSatisfying(
            AccessException.class, e -> assertThat(e.isMissingRight()).isFalse());
  }
}
