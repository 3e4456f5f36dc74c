package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.stream.Consumer;
import com.rabbitmq.stream.ConsumerBuilder;
import com.rabbitmq.stream.Environment;
import com.rabbitmq.stream.Message;
import com.rabbitmq.stream.OffsetSpecification;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.drivers.SharedClients;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntFunction;

/**
 * Reads the streams of some partitions from their beginning, under the subscription's name.
 *
 * <p>The client delivers in one thread for each connection, that is for each node; only one at a
 * time reaches the sink.
 */
final class StreamConsumer implements PartitionedConsumer {
  private static final byte[] NO_BYTES = {};

  private final StreamClients clients;
  private final ConsumerSpec spec;
  private final StreamOptions options;
  private final IntFunction<String> streamOf;
  private final MessageSink sink;

  /** Of a stream of others nothing is kept: positions would be written into it. */
  private final boolean existing;

  private final SharedClients.Hold<Environment> held;
  private final Object gate = new Object();

  /** Guarded by {@code gate}. */
  private boolean paused;

  private boolean closing;

  /** Guarded by this, like what follows. */
  private final Map<Integer, Consumer> reading = new TreeMap<>();

  private List<Integer> assigned = List.of();

  StreamConsumer(
      StreamClients clients,
      ConsumerSpec spec,
      StreamOptions options,
      IntFunction<String> streamOf,
      MessageSink sink,
      boolean existing)
      throws DriverException {
    this.clients = clients;
    this.spec = spec;
    this.options = options;
    this.streamOf = streamOf;
    this.sink = sink;
    this.existing = existing;
    this.paused = spec.startPaused();
    this.held = clients.forConsumer(spec.clientId(), spec.subscription(), this::discarded);
  }

  private void discarded(long messages) {
    sink.discarded(
        messages, new IOException("RabbitMQ's stream client discarded a chunk that came damaged"));
  }

  @Override
  public synchronized void assign(List<Integer> partitions) throws DriverException {
    assigned = List.copyOf(partitions);
    followAssignment();
  }

  /**
   * A consumer that starts paused asks for nothing until it is resumed; later pauses hold the
   * delivery thread.
   */
  private synchronized void followAssignment() throws DriverException {
    for (Integer partition : List.copyOf(reading.keySet())) {
      if (!assigned.contains(partition)) {
        StreamProducer.closeQuietly(reading.remove(partition));
      }
    }
    for (Integer partition : assigned) {
      if (!reading.containsKey(partition) && !isPaused()) {
        reading.put(partition, read(partition));
      }
    }
  }

  private Consumer read(int partition) throws DriverException {
    String stream = streamOf.apply(partition);
    return clients.whenReady(
        "consume " + stream,
        () -> builder(stream).messageHandler((c, message) -> received(partition, message)).build());
  }

  private ConsumerBuilder builder(String stream) {
    ConsumerBuilder builder =
        held.client().consumerBuilder().stream(stream)
            .offset(spec.fromEnd() ? OffsetSpecification.next() : OffsetSpecification.first())
            .flow()
            .strategy(options.flow())
            .builder();
    if (spec.type() == SubscriptionType.FAILOVER) {
      // Who becomes active goes on where the one before had stored its position.
      return builder
          .name(spec.subscription())
          .singleActiveConsumer()
          .autoTrackingStrategy()
          .builder();
    }
    return existing
        ? builder.noTrackingStrategy()
        : builder.name(spec.subscription()).autoTrackingStrategy().builder();
  }

  private void received(int partition, Message message) {
    byte[] value = message.getBodyAsBinary();
    synchronized (gate) {
      while (paused && !closing) {
        try {
          gate.wait();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          return;
        }
      }
      if (closing) {
        return;
      }
      byte[] bytes = value == null ? NO_BYTES : value;
      sink.received(spec.topicIndex(), partition, bytes, 0, bytes.length, System.nanoTime());
    }
  }

  private boolean isPaused() {
    synchronized (gate) {
      return paused;
    }
  }

  @Override
  public void pause() {
    synchronized (gate) {
      paused = true;
    }
  }

  @Override
  public void resume() {
    synchronized (gate) {
      paused = false;
      gate.notifyAll();
    }
    try {
      followAssignment();
    } catch (DriverException e) {
      sink.error(e);
    }
  }

  @Override
  public boolean isClosed() {
    synchronized (gate) {
      return closing;
    }
  }

  @Override
  public void close() {
    synchronized (gate) {
      closing = true;
      gate.notifyAll();
    }
    synchronized (this) {
      reading.values().forEach(StreamProducer::closeQuietly);
      reading.clear();
    }
    StreamClients.release(held);
  }
}
