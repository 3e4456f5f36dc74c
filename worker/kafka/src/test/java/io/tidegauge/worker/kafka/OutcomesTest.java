package io.tidegauge.worker.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.InFlight;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLHandshakeException;
import org.apache.kafka.clients.producer.BufferExhaustedException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.errors.SslAuthenticationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.junit.jupiter.api.Test;

/** What the client's failures mean for a message, and for the user. */
class OutcomesTest {
  @Test
  void aDeliveryThatTimedOutMayBeStored() {
    assertThat(TopicProducer.isNeverSent(new TimeoutException("120000 ms have passed"))).isFalse();
    // A kind of time-out as well, but of a message that never came into a batch.
    assertThat(TopicProducer.isNeverSent(new BufferExhaustedException("no memory"))).isTrue();
    assertThat(TopicProducer.isNeverSent(new RecordTooLargeException("too large"))).isTrue();
  }

  @Test
  void aMessageThatTheClientThrowsAtHasFailed() {
    KafkaProducer<InFlight, InFlight> client =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", "127.0.0.1:1"),
            new InFlightSerializer.Key(),
            new InFlightSerializer.Value());
    client.close();
    Message message = new Message();
    new TopicProducer(client, "topic").send(message);
    assertThat(message.failures).singleElement().isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aFailureOfTlsIsNoWrongPassword() {
    Throwable untrusted =
        new SslAuthenticationException(
            "SSL handshake failed",
            new SSLHandshakeException("unable to find valid certification path to target"));
    assertThat(Failures.describe("connect", untrusted))
        .isInstanceOf(AccessException.class)
        .hasMessageStartingWith("Kafka could not connect: TLS failed: the server's certificate is");
    assertThat(Failures.describe("connect", new SaslAuthenticationException("denied")))
        .isInstanceOf(AccessException.class)
        .hasMessage("Kafka could not connect: wrong password or unknown user (denied)");
  }

  /** Remembers its failures. */
  private static final class Message extends InFlight {
    final List<Throwable> failures = new ArrayList<>();

    @Override
    public byte[] value() {
      return new byte[1];
    }

    @Override
    public byte[] key() {
      return null;
    }

    @Override
    public void acked() {
      throw new AssertionError("nothing was sent");
    }

    @Override
    public void failed(Throwable cause) {
      failures.add(cause);
    }
  }
}
