package io.tidegauge.worker.bench;

import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.TopicSpec;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A system that is nothing but a copy of each message: it delivers on the producer's own thread, so
 * that a trial on it costs what the engine costs, without handing memory from CPU to CPU. One
 * producer and one consumer a topic.
 *
 * <p>Copies are delivered sixteen together, as a poll does, with one reading of the clock. They are
 * acknowledged one by one, each with its own reading, or with {@code ack_batch=16} together.
 */
final class InlineDriver implements Driver {
  private static final int DELIVERED_TOGETHER = 16;
  private static final int PAD = 32;

  private final boolean ackTogether;
  private final Map<String, Consumer> consumers = new HashMap<>();

  InlineDriver(Map<String, String> connection) {
    this.ackTogether = connection.getOrDefault("ack_batch", "1").equals("16");
  }

  @Override
  public void createTopics(List<TopicSpec> topics) {}

  @Override
  public void deleteTopics(List<String> names) {}

  @Override
  public List<EffectiveSetting> describe(List<String> topics) {
    return List.of();
  }

  @Override
  public MessageConsumer createConsumer(ConsumerSpec spec, MessageSink sink) {
    Consumer consumer = new Consumer(spec.topicIndex(), sink);
    consumers.put(spec.topic(), consumer);
    return consumer;
  }

  @Override
  public MessageProducer createProducer(ProducerSpec spec) throws DriverException {
    Consumer consumer = consumers.remove(spec.topic());
    if (consumer == null) {
      throw new DriverException("inline driver: a topic takes one producer and one consumer");
    }
    return new Producer(
        consumer, spec.options().messageBytes(), ackTogether, Math.max(1, spec.partitions()));
  }

  @Override
  public List<EffectiveSetting> clientSettings() {
    return List.of();
  }

  @Override
  public boolean retainsValue() {
    return false;
  }

  @Override
  public void close() {}

  /** Only the engine's end of a consumer: it has no thread. */
  private record Consumer(int topic, MessageSink sink) implements MessageConsumer {
    @Override
    public void pause() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void resume() {}

    @Override
    public void close() {}
  }

  /** Keeps what a producer writes with each message apart from what lies before it in memory. */
  private static class Room {
    @SuppressWarnings("UnusedVariable")
    private long r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, ra, rb, rc, rd, re, rf;
  }

  /** Its arrays, which begin and end with room, lie behind it. */
  private static final class Producer extends Room implements MessageProducer {
    private final Consumer consumer;
    private final boolean ackTogether;
    private final InFlight[] waiting = new InFlight[PAD + DELIVERED_TOGETHER + PAD];
    private final byte[] copies;
    private final int messageBytes;
    private final int partitions;

    /** As wide as the room's fields, so that they are not put in front of them. */
    private long count;

    private long partition;

    Producer(Consumer consumer, int messageBytes, boolean ackTogether, int partitions) {
      this.partitions = partitions;
      this.consumer = consumer;
      this.messageBytes = messageBytes;
      this.ackTogether = ackTogether;
      this.copies = new byte[8 * PAD + DELIVERED_TOGETHER * messageBytes + 8 * PAD];
    }

    @Override
    public void send(InFlight message) {
      int at = (int) count++;
      System.arraycopy(message.value(), 0, copies, 8 * PAD + at * messageBytes, messageBytes);
      waiting[PAD + at] = message;
      if (!ackTogether) {
        message.acked();
      }
      if (at + 1 == DELIVERED_TOGETHER) {
        flush();
      }
    }

    @Override
    public void flush() {
      long now = System.nanoTime();
      for (int i = 0; i < count; i++) {
        if (ackTogether) {
          waiting[PAD + i].acked(now);
        }
        int to = (int) partition;
        partition = to + 1 == partitions ? 0 : to + 1;
        consumer.sink.received(
            consumer.topic, to, copies, 8 * PAD + i * messageBytes, messageBytes, now);
      }
      count = 0;
    }

    @Override
    public void close() {}
  }
}
