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
import io.tidegauge.worker.engine.TrialPlan;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.proto.AckedMessage;
import io.tidegauge.worker.proto.WitnessReply;
import io.tidegauge.worker.proto.WitnessRequest;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Messages sent strictly one at a time, each after the acknowledgement of the one before, so that
 * whatever the servers do between the two instants reported for a message they do for that message.
 */
final class Witness {
  /** Client buffers are sized by it; one message at a time needs no more. */
  private static final int IN_FLIGHT_MAX = 1_000;

  private final TopicSpec topic;
  private final ClientOptions options;
  private final WitnessRequest request;

  private Witness(TrialPlan plan, WitnessRequest request) {
    this.topic = plan.topics().get(0);
    this.options =
        plan.client().withBounds(Math.min(IN_FLIGHT_MAX, plan.client().inFlightMessagesMax()), 1);
    this.request = request;
  }

  /**
   * Creates the topic of the plan, sends the messages and deletes the topic.
   *
   * @throws DriverException if the topic can't be created or a message is not acknowledged in time
   */
  static WitnessReply run(Driver driver, TrialPlan plan, WitnessRequest request)
      throws DriverException, InterruptedException {
    if (plan.topics().size() != 1) {
      throw new IllegalArgumentException("a witness needs exactly one topic");
    }
    try (PassingTopics unused = PassingTopics.create(driver, plan.topics())) {
      return new Witness(plan, request).sendAll(driver);
    }
  }

  private WitnessReply sendAll(Driver driver) throws DriverException, InterruptedException {
    String name = topic.name();
    // A subscription as in a trial: without one, some systems keep no message at all. It stays
    // paused, since to consume also makes servers write.
    ConsumerSpec to =
        new ConsumerSpec(
            name, 0, topic.partitions(), name + "-sub", "tg-witness-in", true, options);
    ProducerSpec from = new ProducerSpec(name, 0, topic.partitions(), "tg-witness-out", options);
    WitnessReply.Builder reply = WitnessReply.newBuilder();
    try (MessageConsumer unused = driver.createConsumer(to, new Ignoring());
        MessageProducer producer = driver.createProducer(from)) {
      send(producer, 0);
      for (int index = 1; index <= request.getMessages(); index++) {
        Thread.sleep(request.getPauseMs());
        reply.addMessages(send(producer, index));
      }
    }
    return reply.build();
  }

  private AckedMessage send(MessageProducer producer, int index)
      throws DriverException, InterruptedException {
    Once message = new Once(index, options.messageBytes());
    long sentMonoNs = System.nanoTime();
    producer.send(message);
    producer.flush();
    boolean answered = message.outcome.await(request.getTimeoutMs(), TimeUnit.MILLISECONDS);
    if (!answered || message.failure != null) {
      String why = answered ? ": " + message.failure : " within " + request.getTimeoutMs() + " ms";
      throw new DriverException(
          "message " + index + " to topic " + topic.name() + " was not acknowledged" + why);
    }
    return AckedMessage.newBuilder()
        .setSentMonoNs(sentMonoNs)
        .setAckedMonoNs(message.ackedMonoNs)
        .build();
  }

  /** A message with a key of its own, so that messages go to all partitions. */
  private static final class Once extends InFlight {
    final CountDownLatch outcome = new CountDownLatch(1);
    volatile long ackedMonoNs;
    volatile String failure;
    private final byte[] value;
    private final byte[] key;

    Once(int index, int bytes) {
      value = new byte[bytes];
      Arrays.fill(value, (byte) index);
      key = Integer.toString(index).getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public byte[] value() {
      return value;
    }

    @Override
    public byte[] key() {
      return key;
    }

    @Override
    public void acked() {
      acked(System.nanoTime());
    }

    @Override
    public void acked(long monoNs) {
      ackedMonoNs = monoNs;
      outcome.countDown();
    }

    @Override
    public void failed(Throwable cause) {
      failure = ErrorLog.describe(cause);
      outcome.countDown();
    }
  }

  /** For a consumer that never reads. */
  private static final class Ignoring implements MessageSink {
    @Override
    public void received(int topic, int partition, byte[] a, int offset, int length, long ns) {
      // Paused consumers may still hand over what they had fetched before.
    }

    @Override
    public void error(Throwable cause) {
      // What matters shows as a message that is not acknowledged.
    }
  }
}
