package io.tidegauge.worker.engine;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.Place;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.Progress;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.check.CheckContext;
import io.tidegauge.worker.engine.check.ConsumerChecker;
import io.tidegauge.worker.engine.check.ForeignChecker;
import io.tidegauge.worker.engine.check.Order;
import io.tidegauge.worker.engine.check.OtherClocks;
import io.tidegauge.worker.engine.check.ReceivingThreads;
import io.tidegauge.worker.engine.check.Subscription;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.history.HistoryFile;
import io.tidegauge.worker.engine.load.AckRecorders;
import io.tidegauge.worker.engine.load.Keys;
import io.tidegauge.worker.engine.load.Live;
import io.tidegauge.worker.engine.load.LoadThreads;
import io.tidegauge.worker.engine.load.Producer;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * This worker's clients of a trial and what they share, made from a plan. They keep the numbers
 * that they have in the whole trial, and the limits of the whole trial are shared out, so that
 * clients do the same however many workers they are spread over.
 */
final class Setup implements AutoCloseable {
  /**
   * Values of messages in flight that there is always room for, over all producers. Who asks for
   * more gets what fits into a quarter of the heap: engine and client hold each of them, the client
   * twice while it sends it. The plan sees to a heap that is large enough, the same for every
   * system: with unequal windows their figures could not be compared.
   */
  static final long IN_FLIGHT_BYTES_LEAST = 32L << 20;

  private static final int IN_FLIGHT_SHARE_OF_HEAP = 4;

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

  /** Of each consumer its number in the subscription, topic by topic, as in {@link #consumers}. */
  final List<List<Integer>> consumerNumbers = new ArrayList<>();

  final List<MessageProducer> clients = new ArrayList<>();
  final List<Producer> producers = new ArrayList<>();
  private final ReceivingThreads receivingThreads = new ReceivingThreads();
  private final List<HistoryFile> histories = new ArrayList<>();
  final int slotsPerProducer;
  private final ClientOptions options;
  private final boolean ownValues;
  private final Progress progress;

  /** As they are: of existing topics the partitions that the system reports. */
  private List<TopicSpec> topics;

  private Setup(TrialPlan plan, Driver driver, PayloadPool pool, Progress progress) {
    this.plan = plan;
    this.driver = driver;
    this.pool = pool;
    this.progress = progress;
    this.topics = plan.topics();
    this.ownValues = driver.retainsValue();
    this.slotsPerProducer =
        slotsPerProducer(plan, pool.messageBytes(), Runtime.getRuntime().maxMemory());
    this.options = plan.client().within(slotsPerProducer, receiveQueue(plan, pool.messageBytes()));
  }

  static int slotsPerProducer(TrialPlan plan, long messageBytes, long heapBytes) {
    long producerCount = Math.max(1, plan.producers());
    // The most that one worker has, so that all come to the same.
    int workers = plan.share().workers();
    long mine = (producerCount + workers - 1) / workers;
    long bytes =
        Math.max(IN_FLIGHT_BYTES_LEAST / producerCount, heapBytes / IN_FLIGHT_SHARE_OF_HEAP / mine);
    long fit = Math.min(SLOTS_MAX / producerCount, bytes / messageBytes);
    return (int) Math.max(1, Math.min(plan.client().inFlightMessagesMax(), fit));
  }

  private static int receiveQueue(TrialPlan plan, long messageBytes) {
    long consumerCount = Math.max(1, plan.consumers());
    long fit = RECEIVE_QUEUE_BYTES_MAX / (consumerCount * messageBytes);
    return (int) Math.max(1, Math.min(plan.client().receiveQueueMessages(), fit));
  }

  /** Creates topics, consumers and producers; on failure closes what was made. */
  static Setup create(TrialPlan plan, Driver driver, Progress progress) throws DriverException {
    Setup setup = new Setup(plan, driver, pool(plan), progress);
    try {
      driver.report(progress);
      setup.makeTopics();
      if (plan.isShared()) {
        driver.shareTopics(setup.topics, plan.subscriptionNames());
      }
      driver.expect(
          setup.producerNumbers().size(), setup.consumersHere(), plan.subscriptionsPerTopic());
      setup.createConsumers();
      setup.createClients();
      return setup;
    } catch (DriverException | RuntimeException e) {
      setup.close();
      throw e;
    }
  }

  /**
   * Creates this worker's topics, before any worker prepares. On topics of others it says where
   * subscriptions begin.
   */
  static void createTopics(TrialPlan plan, Driver driver, Progress progress)
      throws DriverException {
    Share share = plan.share();
    if (IntStream.range(0, plan.topics().size()).noneMatch(share::hasTopic)) {
      return;
    }
    driver.report(progress);
    if (!plan.variant().existingTopics()) {
      driver.createTopics(plan.topics(), share::hasTopic);
      return;
    }
    Setup setup = new Setup(plan, driver, pool(plan), progress);
    setup.makeTopics();
    for (int t = 0; t < plan.topics().size(); t++) {
      for (int s = 0; s < plan.subscriptionsPerTopic() && share.hasTopic(t); s++) {
        driver.beginSubscription(setup.consumerSpec(t, s, 0));
      }
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

  private void makeTopics() throws DriverException {
    if (!plan.variant().existingTopics()) {
      if (!plan.isShared()) {
        driver.createTopics(topics);
      }
      return;
    }
    List<Integer> partitions = driver.openTopics(topicNames());
    List<TopicSpec> found = new ArrayList<>();
    for (int t = 0; t < topics.size(); t++) {
      TopicSpec topic = topics.get(t);
      found.add(
          new TopicSpec(
              topic.name(),
              partitions.get(t),
              topic.replicationFactor(),
              topic.settings(),
              topic.type()));
    }
    topics = List.copyOf(found);
  }

  /**
   * Deletes the topics, or from topics that are others' the subscriptions of this trial. Where
   * other workers may still use them, only if asked.
   */
  void removeTopics(boolean delete) throws DriverException {
    if (!delete && plan.isShared()) {
      return;
    }
    if (plan.variant().existingTopics()) {
      driver.removeSubscriptions(topicNames(), TrialPlan.subscriptionPrefix(plan.trialId()));
    } else if (delete) {
      driver.deleteTopics(topicNames());
    }
  }

  private List<String> topicNames() {
    return topics.stream().map(TopicSpec::name).toList();
  }

  /** Partitions of each topic. */
  List<Integer> partitions() {
    return topics.stream().map(TopicSpec::partitions).toList();
  }

  private void createConsumers() throws DriverException {
    CheckContext context =
        new CheckContext(plan.trialId(), pool, live::window, errors, receivingThreads);
    int total = consumersHere();
    int made = 0;
    for (int s = 0; s < plan.subscriptionsPerTopic(); s++) {
      String name = "sub-" + s;
      boolean shared = plan.consumersPerSubscription() > 1;
      Subscription subscription = new Subscription(name, plan.producers(), shared);
      subscriptions.add(subscription);
      List<MessageConsumer> ofSubscription = new ArrayList<>();
      consumers.add(ofSubscription);
      List<Integer> numbers = new ArrayList<>();
      consumerNumbers.add(numbers);
      for (int t = 0; t < topics.size(); t++) {
        for (int c = 0; c < plan.consumersPerSubscription(); c++) {
          if (plan.share().hasConsumer(plan.producers(), plan.consumer(s, t, c))) {
            numbers.add(t * plan.consumersPerSubscription() + c);
            MessageSink checker = checker(t, subscription, context);
            ofSubscription.add(driver.createConsumer(consumerSpec(t, s, c), checker));
            progress.at("consumers", ++made, total);
          }
        }
      }
    }
  }

  private int consumersHere() {
    return (int)
        IntStream.range(0, plan.consumers())
            .filter(c -> plan.share().hasConsumer(plan.producers(), c))
            .count();
  }

  private ConsumerSpec consumerSpec(int t, int subscription, int member) {
    TopicSpec topic = topics.get(t);
    int number = plan.consumer(subscription, t, member);
    return new ConsumerSpec(
        topic.name(),
        t,
        topic.partitions(),
        plan.subscriptionName(subscription),
        "tg-consumer-" + t + "-" + subscription + "-" + member,
        plan.startsPaused(subscription),
        options,
        plan.variant().subscriptionType(),
        // What was in others' topics before is not what our producers send.
        plan.variant().existingTopics() && plan.producersPerTopic() > 0,
        place(number, member, plan.consumersPerSubscription()));
  }

  private Place place(int client, int member, int members) {
    return plan.isShared() ? new Place(client, member, members) : null;
  }

  private MessageSink checker(int t, Subscription subscription, CheckContext context) {
    int producers = plan.producersPerTopic();
    if (producers == 0) {
      return new ForeignChecker(subscription, context);
    }
    Order order =
        switch (plan.variant().subscriptionType()) {
          case SHARED -> Order.NONE;
          case KEY_SHARED ->
              Order.byKey(
                  t * producers,
                  producers,
                  new Keys.Rule(plan.keys(), Math.max(1, plan.distinctKeys()), plan.seed()));
          default -> Order.byPartition(producers, topics.get(t).partitions());
        };
    return new ConsumerChecker(
        subscription, context, t * producers, producers, order, clocks(t * producers, producers));
  }

  private OtherClocks clocks(int first, int producers) {
    Share share = plan.share();
    if (share.aheadNs().isEmpty()) {
      return OtherClocks.NONE;
    }
    int[] workers = IntStream.range(first, first + producers).map(share::workerOf).toArray();
    return new OtherClocks(
        workers, IntStream.of(workers).mapToLong(share.aheadNs()::get).toArray());
  }

  private void createClients() throws DriverException {
    List<Integer> numbers = producerNumbers();
    for (int number : numbers) {
      clients.add(driver.createProducer(producerSpec(number)));
      progress.at("producers", clients.size(), numbers.size());
    }
    byte[][] keys = Keys.distinct(plan.keys(), plan.distinctKeys());
    Producer.Context context = new Producer.Context(plan.trialId(), pool, live, acks, errors);
    for (int i = 0; i < clients.size(); i++) {
      int number = numbers.get(i);
      Keys chooser = new Keys(plan.keys(), keys, plan.seed(), number);
      HistoryFile history = history(number);
      producers.add(
          new Producer(
              number, clients.get(i), chooser, slotsPerProducer, ownValues, context, history));
    }
  }

  private List<Integer> producerNumbers() {
    return IntStream.range(0, plan.producers()).filter(plan.share()::hasProducer).boxed().toList();
  }

  private ProducerSpec producerSpec(int number) {
    int t = number / plan.producersPerTopic();
    int p = number % plan.producersPerTopic();
    TopicSpec topic = topics.get(t);
    boolean byKey = plan.variant().subscriptionType() == SubscriptionType.KEY_SHARED;
    return new ProducerSpec(
        topic.name(),
        t,
        topic.partitions(),
        "tg-producer-" + t + "-" + p,
        options,
        byKey,
        place(plan.consumers() + number, p, plan.producersPerTopic()));
  }

  /** Where a producer writes what becomes of its messages; null if nowhere. */
  private HistoryFile history(int producer) throws DriverException {
    String directory = plan.variant().historyDirectory();
    if (directory.isEmpty()) {
      return null;
    }
    try {
      HistoryFile file = HistoryFile.create(Path.of(directory), plan.trialId(), producer);
      histories.add(file);
      return file;
    } catch (IOException e) {
      throw new DriverException(
          "the history can't be written in " + directory + ": " + ErrorLog.describe(e), e);
    }
  }

  /** Whether a send may take time: to compress, to wait, or with whatever producers were set to. */
  boolean sendsMayBlock() {
    return driver.sendsMayBlock()
        || !options.compression().equals("none")
        || !options.producerOverrides().isEmpty();
  }

  boolean ownValues() {
    return ownValues;
  }

  /** What the clients were given, and what the engine made of the plan. */
  List<EffectiveSetting> settings(int loadThreads) {
    List<EffectiveSetting> all = new ArrayList<>(driver.clientSettings());
    all.add(setting("load_threads", loadThreads));
    all.add(setting("precision", percent(spinShare(loadThreads))));
    all.add(setting("grain", grainNs() / 1_000 + "us"));
    all.add(setting("in_flight_messages_max", slotsPerProducer));
    all.add(setting("receive_queue_messages", options.receiveQueueMessages()));
    all.add(setting("payload_pool_bodies", pool.size()));
    all.add(setting("value_array_per_message", ownValues));
    return all;
  }

  private double spinShare(int loadThreads) {
    int cpus = Runtime.getRuntime().availableProcessors();
    return LoadThreads.spinShare(plan.variant().spinShareMax(), loadThreads, cpus);
  }

  /** Messages that are due within so much time are sent together. */
  long grainNs() {
    TrialPlan.Variant variant = plan.variant();
    return LoadThreads.grainNs(
        variant.grainNs(),
        variant.spinShareMax(),
        TrialPlan.Variant.SPIN_SHARE_MAX,
        Runtime.getRuntime().availableProcessors());
  }

  private static String percent(double share) {
    BigDecimal rounded = BigDecimal.valueOf(share).setScale(4, RoundingMode.HALF_UP);
    return rounded.movePointRight(2).stripTrailingZeros().toPlainString() + "%";
  }

  private static EffectiveSetting setting(String name, Object value) {
    return new EffectiveSetting("engine", name, String.valueOf(value), null);
  }

  /** Closes producers and consumers; the driver stays open. */
  @Override
  public void close() {
    consumers.forEach(this::closeConsumers);
    // Closing a client reports the outcome of what it still had in flight.
    clients.forEach(this::closeQuietly);
    histories.forEach(this::closeQuietly);
    closeQuietly(receivingThreads);
  }

  /** Closes the consumers of a subscription, and forgets them. */
  void closeConsumers(List<MessageConsumer> ofSubscription) {
    ofSubscription.forEach(this::closeQuietly);
    ofSubscription.clear();
  }

  private void closeQuietly(AutoCloseable closeable) {
    try {
      closeable.close();
    } catch (Exception e) {
      errors.add("engine", e);
    }
  }
}
