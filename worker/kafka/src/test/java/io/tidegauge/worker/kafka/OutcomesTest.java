package io.tidegauge.worker.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.drivers.SharedClients;
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
  void aMessageThatTheClientThrowsAtHasFailed() throws Exception {
    KafkaProducer<InFlight, InFlight> client =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", "127.0.0.1:1"),
            new InFlightSerializer.Key(),
            new InFlightSerializer.Value());
    client.close();
    Message message = new Message();
    SharedClients<KafkaProducer<InFlight, InFlight>> clients = new SharedClients<>();
    new TopicProducer(clients.take("", () -> client), "topic").send(message);
    assertThat(message.failures).singleElement().isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aSharedClientIsClosedWithItsLastProducer() throws Exception {
    SharedClients<KafkaProducer<InFlight, InFlight>> clients = new SharedClients<>();
    clients.expect(SharedClients.MOST + 1, SharedClients.MOST);
    Map<String, Object> settings = Map.of("bootstrap.servers", "127.0.0.1:1", "max.block.ms", 0);
    List<TopicProducer> producers = new ArrayList<>();
    for (String topic : List.of("one", "two")) {
      producers.add(
          new TopicProducer(
              clients.take(
                  "",
                  () ->
                      new KafkaProducer<>(
                          settings, new InFlightSerializer.Key(), new InFlightSerializer.Value())),
              topic));
    }
    Message message = new Message();
    producers.get(0).close();
    producers.get(1).send(message);
    producers.get(1).close();
    producers.get(1).send(message);
    assertThat(message.failures).hasSize(2);
    assertThat(message.failures.get(0)).isInstanceOf(TimeoutException.class);
    assertThat(message.failures.get(1)).isInstanceOf(IllegalStateException.class);
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
