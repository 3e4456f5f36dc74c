package io.tidegauge.worker.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AuthenticationFailureException;
import com.rabbitmq.stream.Constants;
import com.rabbitmq.stream.StreamException;
import io.tidegauge.worker.api.AccessException;
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
  void aWrongPasswordIsNoMissingRight() {
    assertThat(Failures.describe("connect", new AuthenticationFailureException("no")))
        .hasMessage("RabbitMQ could not connect: wrong password or unknown user (no)")
        .isInstanceOfSatisfying(
            AccessException.class, e -> assertThat(e.isMissingRight()).isFalse());
  }
}
