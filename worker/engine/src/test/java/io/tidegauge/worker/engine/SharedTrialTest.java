package io.tidegauge.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.data.Offset.offset;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.check.ConsumerWork;
import io.tidegauge.worker.engine.load.Keys;
import io.tidegauge.worker.engine.schedule.RateSchedule;
import io.tidegauge.worker.proto.SecondFigures;
import io.tidegauge.worker.proto.SubscriptionTotals;
import io.tidegauge.worker.proto.TotalFigures;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.roaringbitmap.longlong.Roaring64NavigableMap;

/** Several workers' trials on one system in memory: together they are the trial of one worker. */
class SharedTrialTest {
  private static final int TOPICS = 3;
  private static final int PRODUCERS_PER_TOPIC = 3;
  private static final int SUBSCRIPTIONS = 2;
  private static final int CONSUMERS = 2;
  private static final int PARTITIONS = 4;
  private static final int BODIES = 5;
  private static final double MSGS_PER_S = 9_000;

  /** Of each producer, those that are compared. */
  private static final int COMPARED = 200;

  private static final long AHEAD_NS = 600_000_000;

  /** After the beginning, when about a third of what is compared has been sent. */
  private static final long CHANGE_NS = 70_000_000;

  /** What the rate does while messages are compared. */
  private enum Change {
    NONE,
    NEW_RATE,
    SCHEDULE
  }

  private Change change = Change.NONE;
  private final SharedSystem system = new SharedSystem(PARTITIONS);
  private final List<Trial> trials = new ArrayList<>();

  @AfterEach
  void finish() throws Exception {
    for (Trial trial : trials) {
      trial.finish(false);
    }
  }

  private TrialPlan plan(Arrival arrival, int topics, int producersPerTopic, Share share) {
    ClientOptions client =
        new ClientOptions(0, 0, "none", 1_000, 10, 1, "all", 100, Map.of(), Map.of(), 0);
    TrialPlan.Variant none = TrialPlan.Variant.NONE;
    return new TrialPlan(
        9,
        1,
        IntStream.range(0, topics)
            .mapToObj(t -> new TopicSpec("t" + t, PARTITIONS, 1, Map.of()))
            .toList(),
        new TrialPlan.Users(
            producersPerTopic, topics == 1 ? 1 : SUBSCRIPTIONS, topics == 1 ? 1 : CONSUMERS, 0),
        new TrialPlan.Payload(100, 1, "", BODIES),
        new TrialPlan.KeyRange(Keys.Choice.RANDOM, 50),
        new TrialPlan.Load(arrival, MSGS_PER_S, schedule(), 5_000_000_000L),
        client,
        new TrialPlan.Variant(
            none.subscriptionType(),
            false,
            "",
            none.spinShareMax(),
            none.grainNs(),
            ConsumerWork.NONE,
            share));
  }

  private RateSchedule schedule() {
    return change != Change.SCHEDULE
        ? null
        : new RateSchedule(
            List.of(
                new RateSchedule.Phase(MSGS_PER_S, 3 * MSGS_PER_S, 50_000_000, 0),
                new RateSchedule.Phase(MSGS_PER_S / 3, MSGS_PER_S, 30_000_000, 0)),
            true);
  }

  private void prepare(Arrival arrival, int workers, int topics, int producersPerTopic)
      throws Exception {
    for (int w = 0; w < workers; w++) {
      TrialPlan plan = plan(arrival, topics, producersPerTopic, new Share(w, workers));
      Trial.createTopics(plan, system, (what, done, total) -> {});
    }
    for (int w = 0; w < workers; w++) {
      trials.add(
          Trial.prepare(plan(arrival, topics, producersPerTopic, new Share(w, workers)), system));
    }
  }

  /**
   * Runs until each producer has sent as many as are compared. Returns when the schedules began.
   */
  private long run(int producers) throws Exception {
    long at = System.nanoTime() + AHEAD_NS;
    for (Trial trial : trials) {
      if (change != Change.SCHEDULE) {
        trial.setWindow(at, 0);
      }
      assertThat(trial.start(at)).as("this machine took too long to start all").isEqualTo(at);
    }
    for (Trial trial : trials) {
      switch (change) {
        case NEW_RATE -> trial.setRate(2.5 * MSGS_PER_S, at + CHANGE_NS);
        case SCHEDULE -> trial.setWindow(at + CHANGE_NS, 0);
        default -> {}
      }
    }
    if (change != Change.NONE) {
      assertThat(System.nanoTime())
          .as("this machine took too long to tell all")
          .isLessThan(at + CHANGE_NS);
    }
    long patienceNs = System.nanoTime() + 60_000_000_000L;
    while (system.sentLeast(producers) < COMPARED && System.nanoTime() < patienceNs) {
      Thread.sleep(5);
    }
    for (Trial trial : trials) {
      assertThat(trial.stopProducers(5_000)).isZero();
    }
    return at;
  }

  private Set<String> sent(Arrival arrival, int workers) throws Exception {
    SharedSystem of = system.anew();
    List<Trial> alone = List.copyOf(trials);
    trials.clear();
    prepare(arrival, workers, TOPICS, PRODUCERS_PER_TOPIC);
    long at = run(TOPICS * PRODUCERS_PER_TOPIC);
    Set<String> compared = of.sent(COMPARED, at);
    for (Trial trial : trials) {
      trial.finish(true);
    }
    trials.addAll(alone);
    return compared;
  }

  /** Producer, sequence, intended time, key and body of every message. */
  @ParameterizedTest
  @CsvSource({
    "UNIFORM,1,NONE",
    "UNIFORM,2,NONE",
    "UNIFORM,3,NONE",
    "UNIFORM,8,NONE",
    "POISSON,1,NONE",
    "POISSON,2,NONE",
    "POISSON,3,NONE",
    "POISSON,8,NONE",
    "UNIFORM,2,NEW_RATE",
    "POISSON,3,NEW_RATE",
    "UNIFORM,8,SCHEDULE",
    "POISSON,3,SCHEDULE"
  })
  void togetherTheySendWhatOneWorkerSends(Arrival arrival, int workers, Change what)
      throws Exception {
    change = what;
    prepareAlone(arrival);
    long at = run(TOPICS * PRODUCERS_PER_TOPIC);
    Set<String> ofOne = system.sent(COMPARED, at);
    assertThat(ofOne).hasSize(TOPICS * PRODUCERS_PER_TOPIC * COMPARED);
    if (arrival == Arrival.UNIFORM) {
      // At the rate of the beginning they would last for 200 ms.
      boolean sooner = ofOne.stream().noneMatch(SharedTrialTest::isLate);
      assertThat(sooner).isEqualTo(what != Change.NONE);
    }
    assertThat(sent(arrival, workers)).isEqualTo(ofOne);
  }

  private static boolean isLate(String message) {
    String after = message.substring(message.indexOf(" at ") + 4);
    return Long.parseLong(after.substring(0, after.indexOf(' '))) > 190_000_000;
  }

  private void prepareAlone(Arrival arrival) throws Exception {
    trials.add(Trial.prepare(plan(arrival, TOPICS, PRODUCERS_PER_TOPIC, null), system));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 8})
  void whateverIsReceivedWhereverIsCountedExactly(int workers) throws Exception {
    int producers = TOPICS * PRODUCERS_PER_TOPIC;
    system.losing("sub-1", 4, Set.of(17L, 100L));
    system.failing(7, Set.of(50L));
    prepare(Arrival.UNIFORM, workers, TOPICS, PRODUCERS_PER_TOPIC);
    run(producers);
    for (Trial trial : trials) {
      trial.finish(false);
    }
    Merged merged = new Merged();
    for (Trial trial : trials) {
      trial.sequences(merged);
    }
    assertThat(merged.sent.keySet()).hasSize(producers);
    assertThat(merged.unknown.get(7).toArray()).containsExactly(50);
    assertThat(merged.lost("sub-0")).isEmpty();
    assertThat(merged.lost("sub-1")).containsExactly("4: 17", "4: 100");
    List<TotalFigures> totals = trials.stream().map(Trial::totals).toList();
    long sent = totals.stream().mapToLong(TotalFigures::getSent).sum();
    assertThat(merged.sent.values().stream().mapToLong(n -> n).sum()).isEqualTo(sent);
    assertThat(totals)
        .allMatch(t -> t.getErrorsList().stream().noneMatch(e -> e.getWhere().equals("engine")));
    for (int s = 0; s < SUBSCRIPTIONS; s++) {
      int number = s;
      List<SubscriptionTotals> found =
          totals.stream().map(t -> t.getSubscriptions(number)).toList();
      assertThat(found).allMatch(t -> t.getName().equals("sub-" + number));
      long unique = found.stream().mapToLong(SubscriptionTotals::getUnique).sum();
      assertThat(unique).isEqualTo(sent - (s == 1 ? 2 : 0));
      if (workers > 1) {
        assertThat(found).allMatch(t -> t.getLost() == 0);
      } else {
        assertThat(found.get(0).getLost()).isEqualTo(s == 1 ? 2 : 0);
      }
      long inSeconds =
          trials.stream()
              .flatMap(trial -> seconds(trial).stream())
              .mapToLong(second -> second.getSubscriptions(number).getUnique())
              .sum();
      assertThat(inSeconds).isEqualTo(unique);
    }
  }

  private static List<SecondFigures> seconds(Trial trial) {
    List<SecondFigures> all = new ArrayList<>();
    for (SecondFigures s = next(trial, 0); s != null; s = next(trial, all.size())) {
      all.add(s);
    }
    return all;
  }

  private static SecondFigures next(Trial trial, long second) {
    try {
      return trial.seconds().next(second, 0);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Two workers, one producer, one consumer: one only sends, the other only receives. */
  @Test
  void aDriverKnowsHowManyClientsItsWorkerWillAskFor() throws Exception {
    prepare(Arrival.UNIFORM, 2, TOPICS, PRODUCERS_PER_TOPIC);
    assertThat(system.expected()).containsExactly("5 6 2", "4 6 2");
  }

  @Test
  void aWorkerMayOnlySendOrOnlyReceive() throws Exception {
    prepare(Arrival.UNIFORM, 2, 1, 1);
    run(1);
    for (Trial trial : trials) {
      trial.finish(false);
    }
    TotalFigures sender = trials.get(0).totals();
    TotalFigures receiver = trials.get(1).totals();
    assertThat(sender.getErrorsList()).isEmpty();
    assertThat(receiver.getErrorsList()).isEmpty();
    assertThat(sender.getSubscriptions(0).getReceived()).isZero();
    assertThat(receiver.getSent()).isZero();
    assertThat(receiver.getSubscriptions(0).getUnique()).isEqualTo(sender.getSent()).isPositive();
    assertThat(receiver.getSubscriptions(0).getWindowReceived())
        .isEqualTo(sender.getWindow().getIntended());
    assertThat(trials.get(1).loadThreads()).isZero();
    double scheduled = seconds(trials.get(0)).get(0).getScheduledMsgsPerS();
    assertThat(scheduled).isPositive();
    assertThat(seconds(trials.get(1))).isNotEmpty();
    assertThat(seconds(trials.get(1))).allMatch(s -> s.getScheduledMsgsPerS() == 0);
  }

  @Test
  void eachSecondsScheduledRateIsThisWorkersPart() throws Exception {
    prepare(Arrival.UNIFORM, 2, TOPICS, PRODUCERS_PER_TOPIC);
    run(TOPICS * PRODUCERS_PER_TOPIC);
    for (Trial trial : trials) {
      trial.finish(false);
      double due =
          seconds(trial).stream()
              .mapToDouble(
                  s -> s.getScheduledMsgsPerS() * (s.getUntilMonoNs() - s.getFromMonoNs()) / 1e9)
              .sum();
      assertThat(due).isCloseTo(trial.totals().getSent(), offset(10.0));
    }
  }

  @Test
  void eachWorkerCreatesItsTopicsAndNoneWhenItPrepares() throws Exception {
    prepare(Arrival.UNIFORM, 2, TOPICS, PRODUCERS_PER_TOPIC);
    assertThat(system.created()).containsExactly("t0", "t2", "t1");
    trials.get(0).finish(false);
    assertThat(system.deleted()).isEmpty();
    trials.get(1).finish(true);
    assertThat(system.deleted()).containsExactly("t0", "t1", "t2");
  }

  /** What the controller makes of the workers' sets. */
  private static final class Merged implements SequencesSink {
    final Map<Integer, Long> sent = new TreeMap<>();
    final Map<Integer, Roaring64NavigableMap> unknown = new TreeMap<>();
    final Map<String, Map<Integer, Roaring64NavigableMap>> received = new TreeMap<>();

    @Override
    public void sent(int producer, long count, byte[] set) {
      sent.put(producer, count);
      add(unknown, producer, set);
    }

    @Override
    public void received(String subscription, int producer, byte[] set) {
      add(received.computeIfAbsent(subscription, s -> new TreeMap<>()), producer, set);
    }

    private static void add(Map<Integer, Roaring64NavigableMap> to, int producer, byte[] set) {
      Roaring64NavigableMap part = new Roaring64NavigableMap();
      try {
        part.deserializePortable(new DataInputStream(new ByteArrayInputStream(set)));
      } catch (IOException e) {
        throw new AssertionError(e);
      }
      to.computeIfAbsent(producer, p -> new Roaring64NavigableMap()).or(part);
    }

    List<String> lost(String subscription) {
      List<String> lost = new ArrayList<>();
      sent.forEach(
          (producer, count) -> {
            Roaring64NavigableMap missing = new Roaring64NavigableMap();
            missing.addRange(0, count);
            missing.andNot(received.get(subscription).get(producer));
            missing.andNot(unknown.get(producer));
            for (long sequence : missing.toArray()) {
              lost.add(producer + ": " + sequence);
            }
          });
      return lost;
    }
  }
}
