package io.tidegauge.worker.app;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.figures.ErrorLog;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** One message there and back on a topic of its own: the proof that a client can use the system. */
final class Probe implements MessageSink {
  private static final int BYTES = 100;
  private final ClientOptions options;
  private final byte[] value = new byte[BYTES];
  private final CountDownLatch arrived = new CountDownLatch(1);
  private volatile String trouble;
  private volatile Throwable sendFailure;

  /**
   * Older Kafka brokers refuse messages of one copy that wait for as many as their default asks.
   */
  private Probe(int copies) {
    String acks = copies == 1 ? "one" : "all";
    options = new ClientOptions(0, 0, "none", 1, 10, 1, acks, BYTES, Map.of(), Map.of(), 0);
    Arrays.fill(value, (byte) 'p');
  }

  /** Returns the time taken, in ns. */
  static long run(Driver driver, String topic, int copies, long timeoutMs)
      throws DriverException, InterruptedException {
    long began = System.nanoTime();
    Probe probe = new Probe(copies);
    List<TopicSpec> topics = List.of(new TopicSpec(topic, 1, copies, Map.of()));
    try (PassingTopics unused = PassingTopics.create(driver, topics)) {
      probe.sendAndReceive(driver, topic, timeoutMs);
    }
    return System.nanoTime() - began;
  }

  private void sendAndReceive(Driver driver, String topic, long timeoutMs)
      throws DriverException, InterruptedException {
    ConsumerSpec to =
        new ConsumerSpec(topic, 0, 1, topic + "-probe", "tg-probe-in", false, options);
    ProducerSpec from = new ProducerSpec(topic, 0, 1, "tg-probe-out", options);
    try (MessageConsumer unused = driver.createConsumer(to, this);
        MessageProducer producer = driver.createProducer(from)) {
      producer.send(new Once());
      producer.flush();
      if (!arrived.await(timeoutMs, TimeUnit.MILLISECONDS)) {
        String why = trouble == null ? "" : ": " + trouble;
        throw new DriverException(
            "a message to topic " + topic + " did not come back within " + timeoutMs + " ms" + why);
      }
      if (sendFailure != null) {
        throw driver.explain("send a message to topic " + topic, sendFailure);
      }
    }
  }

  @Override
  public void received(int topic, int partition, byte[] a, int offset, int length, long ns) {
    if (Arrays.equals(a, offset, offset + length, value, 0, BYTES)) {
      arrived.countDown();
    }
  }

  @Override
  public void error(Throwable cause) {
    trouble = ErrorLog.describe(cause);
  }

  private final class Once extends InFlight {
    @Override
    public byte[] value() {
      return value;
    }

    @Override
    public byte[] key() {
      return null;
    }

    @Override
    public void acked() {
      // The message coming back says more.
    }

    @Override
    public void failed(Throwable cause) {
      sendFailure = cause;
      arrived.countDown();
    }
  }
}
