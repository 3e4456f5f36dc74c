package io.tidegauge.worker.bench;

import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.Threads;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.figures.Counters;
import io.tidegauge.worker.engine.message.PayloadPool;
import io.tidegauge.worker.engine.os.ProcessUse;
import java.util.List;
import java.util.Map;

/**
 * What the null system costs by itself: copying messages in, handing them to another thread, and
 * there reading them once. No header, no clock, no check, no histogram. The difference to {@link
 * EngineBench} with the same settings is the engine's own cost.
 *
 * <pre>
 * NullBareLoop [producers=1] [bytes=1024] [seconds=5] [warm=3]
 * </pre>
 */
public final class NullBareLoop {
  private static final int LINE_BYTES = 64;

  private final Options options;
  private final int bytes;
  private volatile boolean done;

  private NullBareLoop(Options options) {
    this.options = options;
    this.bytes = options.number("bytes", 1_024);
  }

  public static void main(String[] args) throws Exception {
    new NullBareLoop(new Options(args)).run();
    System.exit(0);
  }

  private void run() throws Exception {
    String topic = "bare";
    Reader reader = new Reader();
    try (Driver driver = EngineBench.driver("null", options.connection())) {
      driver.createTopics(List.of(new TopicSpec(topic, 1, 1, Map.of())));
      ConsumerSpec consumer =
          new ConsumerSpec(topic, 0, 1, "bare", "bare-consumer", false, options.client());
      try (MessageConsumer unused = driver.createConsumer(consumer, reader)) {
        for (int p = 0; p < options.number("producers", 1); p++) {
          ProducerSpec spec = new ProducerSpec(topic, 0, 1, "bare-" + p, options.client());
          MessageProducer client = driver.createProducer(spec);
          Threads.start("bare-producer", () -> produce(client));
        }
        Thread.sleep(options.number("warm", 3) * 1_000L);
        measure(reader, options.number("seconds", 5));
        done = true;
      }
    }
  }

  private void produce(MessageProducer client) {
    PayloadPool pool = PayloadPool.seeded(42, bytes, 1, 256);
    Message message = new Message(pool);
    while (!done) {
      message.next();
      client.send(message);
    }
  }

  private void measure(Reader reader, int seconds) throws InterruptedException {
    long messages = reader.count();
    long cpu = ProcessUse.cpuNs();
    long began = System.nanoTime();
    Thread.sleep(seconds * 1_000L);
    double took = (System.nanoTime() - began) / 1e9;
    double millions = (reader.count() - messages) / 1e6;
    System.out.printf(
        "bare null loop, bytes %d producers %d: %,.0f msg/s, %.3f CPU-s per million%n",
        bytes,
        options.number("producers", 1),
        millions * 1e6 / took,
        (ProcessUse.cpuNs() - cpu) / 1e9 / millions);
  }

  /** The one message of a producer: each value in turn, its outcome ignored. */
  private static final class Message extends InFlight {
    private final byte[][] values;
    private int at;

    Message(PayloadPool pool) {
      values = new byte[pool.size()][];
      for (int i = 0; i < values.length; i++) {
        values[i] = pool.newValue(1, 0, i);
      }
    }

    void next() {
      at = at + 1 == values.length ? 0 : at + 1;
    }

    @Override
    public byte[] value() {
      return values[at];
    }

    @Override
    public byte[] key() {
      return null;
    }

    @Override
    public void acked() {}

    @Override
    public void acked(long ackedMonoNs) {}

    @Override
    public void failed(Throwable cause) {
      throw new IllegalStateException(cause);
    }
  }

  /** Brings every line of a message to the consumer's CPU. */
  private static final class Reader implements MessageSink {
    private final Counters counters = new Counters(1);
    private long sum;

    long count() {
      return counters.get(0);
    }

    @Override
    public void received(
        int topic, int partition, byte[] array, int offset, int length, long receivedMonoNs) {
      long s = 0;
      for (int i = offset; i < offset + length; i += LINE_BYTES) {
        s += array[i];
      }
      sum += s;
      if (sum == Long.MIN_VALUE) {
        throw new IllegalStateException("never: keeps the reading from being dropped");
      }
      counters.add(0, 1);
    }

    @Override
    public void error(Throwable cause) {
      throw new IllegalStateException(cause);
    }
  }
}
