package io.tidegauge.worker.pulsar;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.drivers.SharedClients;
import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pulsar.client.api.PulsarClient;
import org.junit.jupiter.api.Test;

/** Clients that consumers, or producers, share. */
class ReadingTest {
  private final AtomicInteger closed = new AtomicInteger();

  /** A client that only counts how often it is closed. */
  private PulsarClient client() {
    return (PulsarClient)
        Proxy.newProxyInstance(
            PulsarClient.class.getClassLoader(),
            new Class<?>[] {PulsarClient.class},
            (proxy, method, arguments) -> {
              closed.incrementAndGet();
              return CompletableFuture.completedFuture(null);
            });
  }

  @Test
  void theLastConsumerClosesTheClientAndEndsItsThread() throws Exception {
    SharedClients<Reading> clients = new SharedClients<>();
    clients.expect(SharedClients.MOST + 1, SharedClients.MOST);
    SharedClients.Hold<Reading> one = clients.take("sub-0", () -> Reading.with(client(), "c"));
    SharedClients.Hold<Reading> other = clients.take("sub-0", () -> Reading.with(client(), "c"));
    assertThat(other.client()).isSameAs(one.client());
    assertThat(Reading.release(one)).isCompleted();
    assertThat(closed).hasValue(0);
    assertThat(one.client().thread().isShutdown()).isFalse();
    Reading.release(other).join();
    assertThat(closed).hasValue(1);
    assertThat(one.client().thread().awaitTermination(10, java.util.concurrent.TimeUnit.SECONDS))
        .isTrue();
  }

  @Test
  void theLastProducerClosesTheClient() throws Exception {
    SharedClients<PulsarClient> clients = new SharedClients<>();
    clients.expect(SharedClients.MOST + 1, SharedClients.MOST);
    SharedClients.Hold<PulsarClient> one = clients.take("", this::client);
    SharedClients.Hold<PulsarClient> other = clients.take("", this::client);
    TopicProducer.release(one).join();
    assertThat(closed).hasValue(0);
    TopicProducer.release(other).join();
    assertThat(closed).hasValue(1);
  }
}
