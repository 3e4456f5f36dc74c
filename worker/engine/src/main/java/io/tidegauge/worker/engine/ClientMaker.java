package io.tidegauge.worker.engine;

import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.Progress;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.check.CheckContext;
import io.tidegauge.worker.engine.check.ConsumerChecker;
import io.tidegauge.worker.engine.check.ForeignChecker;
import io.tidegauge.worker.engine.check.Order;
import io.tidegauge.worker.engine.check.OtherClocks;
import io.tidegauge.worker.engine.check.Subscription;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.history.HistoryFile;
import io.tidegauge.worker.engine.load.KeySet;
import io.tidegauge.worker.engine.load.Keys;
import io.tidegauge.worker.engine.load.Producer;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;

/** Makes this worker's clients of a trial, with what checks and sends their messages. */
final class ClientMaker {
  private final TrialPlan plan;
  private final Driver driver;
  private final List<TopicSpec> topics;
  private final Producer.Context context;
  private final Progress progress;
  private final ClientSpecs specs;
  private final KeySet keys;

  /**
   * @param topics as they are on the system
   */
  ClientMaker(
      TrialPlan plan,
      Driver driver,
      List<TopicSpec> topics,
      Producer.Context context,
      Progress progress)
      throws DriverException {
    this.plan = plan;
    this.driver = driver;
    this.topics = topics;
    this.context = context;
    this.progress = progress;
    this.specs = new ClientSpecs(plan, topics);
    this.keys = keysOf(plan);
  }

  private static KeySet keysOf(TrialPlan plan) throws DriverException {
    TrialPlan.KeyRange keys = plan.keys();
    if (keys.choice() != Keys.Choice.FROM_FILE) {
      return KeySet.numbered(
          Keys.Rule.of(keys.choice(), keys.distinct(), plan.seed(), keys.zipfExponent()));
    }
    try {
      return KeySet.ofLines(Path.of(keys.file()));
    } catch (IOException e) {
      throw new DriverException("the key file can't be used: " + ErrorLog.describe(e), e);
    }
  }

  /** Makes all consumers, then all producers; on failure closes what was made. */
  Clients makeAll() throws DriverException {
    Clients clients = new Clients(context.errors());
    try {
      if (plan.isShared()) {
        driver.shareTopics(topics, plan.subscriptionNames());
      }
      driver.expect(
          producerNumbers().size(), consumerCount(), plan.users().subscriptionsPerTopic());
      makeConsumers(clients);
      makeProducers(clients);
      return clients;
    } catch (DriverException | RuntimeException e) {
      clients.close();
      throw e;
    }
  }

  private List<Integer> producerNumbers() {
    return IntStream.range(0, plan.producers()).filter(plan.share()::hasProducer).boxed().toList();
  }

  private boolean hasConsumer(int number) {
    return plan.share().hasConsumer(plan.producers(), number);
  }

  private int consumerCount() {
    return (int) IntStream.range(0, plan.consumers()).filter(this::hasConsumer).count();
  }

  private void makeConsumers(Clients clients) throws DriverException {
    CheckContext checks =
        new CheckContext(
            plan.trialId(),
            context.pool(),
            context.live()::window,
            context.errors(),
            clients.receivingThreads(),
            plan.variant().work());
    int total = consumerCount();
    int made = 0;
    int consumersPerSubscription = plan.users().consumersPerSubscription();
    for (int s = 0; s < plan.users().subscriptionsPerTopic(); s++) {
      Subscription subscription =
          new Subscription("sub-" + s, plan.producers(), consumersPerSubscription > 1);
      Clients.Members members = new Clients.Members(subscription);
      clients.add(members);
      for (int t = 0; t < topics.size(); t++) {
        for (int c = 0; c < consumersPerSubscription; c++) {
          if (hasConsumer(plan.consumer(s, t, c))) {
            members.numbers().add(t * consumersPerSubscription + c);
            MessageSink checker = checker(t, subscription, checks);
            members.consumers().add(driver.createConsumer(specs.consumer(t, s, c), checker));
            progress.at("consumers", ++made, total);
          }
        }
      }
    }
  }

  private MessageSink checker(int t, Subscription subscription, CheckContext checks) {
    int producers = plan.users().producersPerTopic();
    if (producers == 0) {
      return new ForeignChecker(subscription, checks);
    }
    int first = t * producers;
    Order order =
        switch (plan.variant().subscriptionType()) {
          case SHARED -> Order.NONE;
          case KEY_SHARED -> Order.byKey(first, producers, keys.rule());
          default -> Order.byPartition(producers, topics.get(t).partitions());
        };
    return new ConsumerChecker(
        subscription, checks, first, producers, order, clocks(first, producers));
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

  private void makeProducers(Clients clients) throws DriverException {
    List<Integer> numbers = producerNumbers();
    int ownValues = driver.retainsValue() ? ownValues(numbers.size()) : 0;
    byte[][] distinctKeys = keys.distinct();
    for (int number : numbers) {
      HistoryFile history = history(number, clients);
      clients.add(
          new Producer(
              number,
              driver.createProducer(specs.producer(number)),
              new Keys(keys.rule(), distinctKeys, number),
              plan.client().inFlightMessagesMax(),
              ownValues,
              context,
              history));
      progress.at("producers", clients.producers().size(), numbers.size());
    }
  }

  /**
   * Arrays of values that each of so many producers has: one for each message in flight, and where
   * they are of several sizes so many that every producer's messages have them all, as far as the
   * memory allows that.
   */
  private int ownValues(int producers) {
    PayloadPool pool = context.pool();
    int inFlight = plan.client().inFlightMessagesMax();
    if (!pool.isMixed()) {
      return inFlight;
    }
    long fit = PayloadPool.POOL_BYTES_MAX / ((long) producers * pool.messageBytes());
    return (int) Math.max(inFlight, Math.min(pool.size(), fit));
  }

  /** Where a producer writes what becomes of its messages; null if nowhere. */
  private HistoryFile history(int producer, Clients clients) throws DriverException {
    String directory = plan.variant().historyDirectory();
    if (directory.isEmpty()) {
      return null;
    }
    try {
      HistoryFile file = HistoryFile.create(Path.of(directory), plan.trialId(), producer);
      clients.add(file);
      return file;
    } catch (IOException e) {
      throw new DriverException(
          "the history can't be written in " + directory + ": " + ErrorLog.describe(e), e);
    }
  }
}
