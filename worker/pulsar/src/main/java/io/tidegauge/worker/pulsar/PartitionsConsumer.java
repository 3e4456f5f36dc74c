package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.Progress;
import io.tidegauge.worker.api.SettingsException.Role;
import io.tidegauge.worker.drivers.SharedClients;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerBuilder;

/**
 * A consumer of a partitioned topic: one client consumer for each partition, all delivering on one
 * thread. Consumers that share a client, also of topics without partitions, share its thread.
 *
 * <p>The client's own consumer over several topics waits up to 1 ms to gather what it takes from
 * each partition (MultiTopicsConsumerImpl.createInternalConsumer), which would be measured as
 * latency of the system, and costs more CPU.
 */
final class PartitionsConsumer implements MessageConsumer {
  /** Each subscription loads its topic in the broker, which limits how many it loads at a time. */
  private static final int SUBSCRIBE_BATCH = 200;

  private static final long CLOSE_TIMEOUT_MS = 10_000;

  private final SharedClients.Hold<Reading> held;
  private final List<Consumer<byte[]>> consumers = new ArrayList<>();
  private final Gate gate;
  private final Progress progress;

  PartitionsConsumer(SharedClients.Hold<Reading> held, ConsumerSpec spec, Progress progress) {
    this.held = held;
    this.progress = progress;
    this.gate = new Gate(spec.startPaused());
  }

  /** Subscribes to every partition; the builder has all settings but the topic. */
  void start(ConsumerBuilder<byte[]> builder, String fullName, ConsumerSpec spec, MessageSink sink)
      throws DriverException {
    boolean several = spec.partitions() > 1;
    List<String> names = Topics.partitionNames(fullName, several ? spec.partitions() : 0);
    for (int from = 0; from < spec.partitions(); from += SUBSCRIBE_BATCH) {
      List<CompletableFuture<Consumer<byte[]>>> batch = new ArrayList<>();
      for (int p = from; p < Math.min(spec.partitions(), from + SUBSCRIBE_BATCH); p++) {
        batch.add(
            subscribe(builder.clone(), names.get(p), new Delivery(sink, spec.topicIndex(), p)));
      }
      for (CompletableFuture<Consumer<byte[]>> subscribing : batch) {
        consumers.add(
            Failures.awaitNew(
                Role.CONSUMER,
                () -> subscribing,
                "subscribe to " + spec.topic(),
                2L * Connection.TIMEOUT_MS));
      }
      if (several) {
        progress.at("partitions of a consumer", consumers.size(), spec.partitions());
      }
    }
  }

  private CompletableFuture<Consumer<byte[]>> subscribe(
      ConsumerBuilder<byte[]> builder, String topic, Delivery delivery) {
    return builder
        .topic(topic)
        .messageListener(
            (consumer, message) -> {
              if (gate.pass()) {
                delivery.deliver(consumer, message);
              }
            })
        .messageListenerExecutor((message, task) -> held.client().thread().execute(task))
        .subscribeAsync();
  }

  @Override
  public void pause() {
    consumers.forEach(Consumer::pause);
    gate.shut();
  }

  @Override
  public void resume() {
    gate.open();
    consumers.forEach(Consumer::resume);
  }

  @Override
  public void close() {
    gate.end();
    List<CompletableFuture<Void>> closing = new ArrayList<>();
    consumers.forEach(consumer -> closing.add(consumer.closeAsync()));
    CompletableFuture<Void> all =
        CompletableFuture.allOf(closing.toArray(CompletableFuture[]::new));
    Closing.quietly(all.thenCompose(done -> Reading.release(held)), CLOSE_TIMEOUT_MS);
  }
}
