package io.tidegauge.worker.engine;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.check.CheckContext;
import io.tidegauge.worker.engine.check.ConsumerChecker;
import io.tidegauge.worker.engine.check.Subscription;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.load.AckRecorders;
import io.tidegauge.worker.engine.load.Keys;
import io.tidegauge.worker.engine.load.Live;
import io.tidegauge.worker.engine.load.Producer;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The clients of a trial and what they share, made from a plan. */
final class Setup implements AutoCloseable {
  /**
   * Values of messages in flight, over all producers. The same for every system, whoever holds
   * them, engine or client: with unequal windows their figures could not be compared.
   */
  static final long IN_FLIGHT_BYTES_MAX = 32L << 20;

  /** Values that the consumers' clients hold before we take them, over all consumers. */
  static final long RECEIVE_QUEUE_BYTES_MAX = 32L << 20;

  /** Slots of all producers together. */
  static final long SLOTS_MAX = 1L << 20;

  final TrialPlan plan;
  final Driver driver;
  final PayloadPool pool;
  final Live live = new Live();
  final ErrorLog errors = new ErrorLog();
  final AckRecorders acks = new AckRecorders();
  final List<Subscription> subscriptions = new ArrayList<>();
  final List<List<MessageConsumer>> consumers = new ArrayList<>();
  final List<MessageProducer> clients = new ArrayList<>();
  final List<Producer> producers = new ArrayList<>();
  final int slotsPerProducer;
  private final ClientOptions options;
  private final boolean ownValues;

  private Setup(TrialPlan plan, Driver driver, PayloadPool pool) {
    this.plan = plan;
    this.driver = driver;
    this.pool = pool;
    this.ownValues = driver.retainsValue();
    long producerCount = Math.max(1, plan.producers());
    long fit =
        Math.min(
            SLOTS_MAX / producerCount, IN_FLIGHT_BYTES_MAX / (producerCount * pool.messageBytes()));
    this.slotsPerProducer = (int) Math.max(1, Math.min(plan.client().inFlightMessagesMax(), fit));
    this.options = plan.client().within(slotsPerProducer, receiveQueue(plan, pool.messageBytes()));
  }

  private static int receiveQueue(TrialPlan plan, long messageBytes) {
    long consumerCount =
        Math.max(
            1L,
            (long) plan.topics().size()
                * plan.subscriptionsPerTopic()
                * plan.consumersPerSubscription());
    long fit = RECEIVE_QUEUE_BYTES_MAX / (consumerCount * messageBytes);
    return (int) Math.max(1, Math.min(plan.client().receiveQueueMessages(), fit));
  }

  /** Creates topics, consumers and producers; on failure closes what was made. */
  static Setup create(TrialPlan plan, Driver driver) throws DriverException {
    Setup setup = new Setup(plan, driver, pool(plan));
    try {
      driver.createTopics(plan.topics());
      setup.createConsumers();
      setup.createClients();
      return setup;
    } catch (DriverException | RuntimeException e) {
      setup.closeClients();
      throw e;
    }
  }

  private static PayloadPool pool(TrialPlan plan) throws DriverException {
    TrialPlan.Payload p = plan.payload();
    if (p.file().isEmpty()) {
      return PayloadPool.seeded(plan.seed(), p.messageBytes(), p.randomShare(), p.poolBodies());
    }
    try {
      return PayloadPool.fromFile(Path.of(p.file()), p.messageBytes(), p.poolBodies());
    } catch (IOException e) {
      throw new DriverException("the payload file can't be used: " + ErrorLog.describe(e), e);
    }
  }

  private void createConsumers() throws DriverException {
    CheckContext context = new CheckContext(plan.trialId(), pool, live::window, errors);
    int perTopic = plan.producersPerTopic();
    for (int s = 0; s < plan.subscriptionsPerTopic(); s++) {
      String name = "sub-" + s;
      boolean shared = plan.consumersPerSubscription() > 1;
      Subscription subscription = new Subscription(name, plan.producers(), shared);
      subscriptions.add(subscription);
      List<MessageConsumer> ofSubscription = new ArrayList<>();
      consumers.add(ofSubscription);
      for (int t = 0; t < plan.topics().size(); t++) {
        TopicSpec topic = plan.topics().get(t);
        for (int c = 0; c < plan.consumersPerSubscription(); c++) {
          String client = "tg-consumer-" + t + "-" + s + "-" + c;
          ConsumerSpec spec =
              new ConsumerSpec(
                  topic.name(),
                  t,
                  topic.partitions(),
                  "tg-" + Long.toHexString(plan.trialId()) + "-" + name,
                  client,
                  plan.startsPaused(s),
                  options);
          ofSubscription.add(
              driver.createConsumer(
                  spec,
                  new ConsumerChecker(
                      subscription, context, t * perTopic, perTopic, topic.partitions())));
        }
      }
    }
  }

  private void createClients() throws DriverException {
    for (int t = 0; t < plan.topics().size(); t++) {
      TopicSpec topic = plan.topics().get(t);
      for (int p = 0; p < plan.producersPerTopic(); p++) {
        String client = "tg-producer-" + t + "-" + p;
        clients.add(
            driver.createProducer(
                new ProducerSpec(topic.name(), t, topic.partitions(), client, options)));
      }
    }
    byte[][] keys = Keys.distinct(plan.keys(), plan.distinctKeys());
    Producer.Context context = new Producer.Context(plan.trialId(), pool, live, acks, errors);
    for (int i = 0; i < clients.size(); i++) {
      Keys chooser = new Keys(plan.keys(), keys, plan.seed(), i);
      producers.add(new Producer(i, clients.get(i), chooser, slotsPerProducer, ownValues, context));
    }
  }

  boolean ownValues() {
    return ownValues;
  }

  /** What the clients were given, and what the engine made of the plan. */
  List<EffectiveSetting> settings(int loadThreads) {
    List<EffectiveSetting> all = new ArrayList<>(driver.clientSettings());
    all.add(setting("load_threads", loadThreads));
    all.add(setting("in_flight_messages_max", slotsPerProducer));
    all.add(setting("receive_queue_messages", options.receiveQueueMessages()));
    all.add(setting("payload_pool_bodies", pool.size()));
    all.add(setting("value_array_per_message", ownValues));
    return all;
  }

  private static EffectiveSetting setting(String name, Object value) {
    return new EffectiveSetting("engine", name, String.valueOf(value), null);
  }

  private void closeClients() {
    for (List<MessageConsumer> ofSubscription : consumers) {
      ofSubscription.forEach(this::closeQuietly);
    }
    clients.forEach(this::closeQuietly);
  }

  private void closeQuietly(AutoCloseable closeable) {
    try {
      closeable.close();
    } catch (Exception e) {
      errors.add("engine", e);
    }
  }

  /** Closes producers and consumers; the driver stays open. */
  @Override
  public void close() {
    closeClients();
  }
}
