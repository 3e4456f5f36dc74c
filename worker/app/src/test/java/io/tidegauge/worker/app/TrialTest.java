package io.tidegauge.worker.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.tidegauge.worker.proto.*;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Whole trials with the null system, through the real service. */
class TrialTest {
  private TestWorker worker;

  @BeforeEach
  void start() throws Exception {
    worker = new TestWorker();
  }

  @AfterEach
  void stop() {
    worker.close();
  }

  /**
   * Known answer: with arrivals spread evenly, a stall of 1 s in a window of 3 s meets a third of
   * the messages.
   */
  @Test
  void aStallShowsInTheResponseAsTheScheduleSays() throws Exception {
    worker.stub.prepare(TestWorker.order(Map.of("stalls", "1000:1000"), 5_000).build());
    Calm calm = new Calm();
    worker.startMeasured(3000);
    Thread.sleep(3_500);
    TotalFigures t = worker.stop();
    WindowFigures w = t.getWindow();
    assertThat(w.getIntended()).isEqualTo(15_000);
    assertThat(TestFigures.decode(w.getResponse()).getTotalCount()).isEqualTo(15_000);
    assertThat(t.getSubscriptions(0).getLost()).isZero();
    calm.judge(() -> stalledForASecondOfThree(w));
  }

  private static void stalledForASecondOfThree(WindowFigures w) {
    Histogram response = TestFigures.decode(w.getResponse());
    double late = response.getCountBetweenValues(20_000_000, Long.MAX_VALUE) / 15_000.0;
    assertThat(late).isCloseTo(0.98 / 3, within(0.05 / 3));
    // Of the messages met, an evenly spread part waits for each part of the second.
    assertThat(response.getValueAtPercentile(100 - 100.0 / 6) / 1e6).isCloseTo(500, within(50.0));
    assertThat(response.getValueAtPercentile(100 - 100.0 / 30) / 1e6).isCloseTo(900, within(50.0));
    // The in-flight limit of 2,000 was reached, so producers were blocked; that is not their fault.
    assertThat(w.getBlockedNs()).isGreaterThan(400_000_000);
    assertThat(TestFigures.decode(w.getDelay()).getMaxValue()).isGreaterThan(400_000_000);
    assertThat(TestFigures.decode(w.getOwnLag()).getValueAtPercentile(99)).isLessThan(200_000_000);
  }

  @Test
  void twoObserversReadTheSameAndAskingChangesNothing() throws Exception {
    worker.stub.prepare(TestWorker.order(Map.of(), 3_000).build());
    CompletableFuture<List<SecondFigures>> early = CompletableFuture.supplyAsync(this::watchAll);
    worker.stub.start(StartRequest.getDefaultInstance());
    Thread.sleep(1_300);
    CompletableFuture<List<SecondFigures>> late = CompletableFuture.supplyAsync(this::watchAll);
    for (int i = 0; i < 5; i++) {
      worker.stub.totals(TotalsRequest.getDefaultInstance());
    }
    Thread.sleep(1_000);
    TotalFigures t = worker.stop();
    List<SecondFigures> seconds = early.get();
    assertThat(late.get()).isEqualTo(seconds);
    assertThat(watchAll()).isEqualTo(seconds);
    assertThat(seconds).hasSizeGreaterThanOrEqualTo(3);
    assertThat(seconds.stream().mapToLong(SecondFigures::getSent).sum()).isEqualTo(t.getSent());
    assertThat(seconds.stream().mapToLong(SecondFigures::getAcked).sum()).isEqualTo(t.getAcked());
    long counted = 0;
    for (SecondFigures s : seconds) {
      counted += TestFigures.decode(s.getResponse()).getTotalCount();
    }
    assertThat(counted).isEqualTo(t.getAcked());
    assertThat(seconds.get(1).getScheduledMsgsPerS()).isCloseTo(3_000, within(1.0));
    assertThat(worker.stub.totals(TotalsRequest.getDefaultInstance()).getAcked())
        .isEqualTo(t.getAcked());
  }

  private List<SecondFigures> watchAll() {
    List<SecondFigures> all = new ArrayList<>();
    Iterator<SecondFigures> it = worker.stub.watch(WatchRequest.getDefaultInstance());
    it.forEachRemaining(all::add);
    return all;
  }

  @Test
  void watchBeginsAtTheSecondAskedFor() throws Exception {
    worker.run(TestWorker.order(Map.of(), 1_000).build(), 2_200);
    Iterator<SecondFigures> it =
        worker.stub.watch(WatchRequest.newBuilder().setFromSecond(1).build());
    assertThat(it.next().getSecond()).isEqualTo(1);
  }

  @Test
  void pausedConsumersBuildABacklogThatIsReadAfterwards() throws Exception {
    worker.stub.prepare(
        TestWorker.order(Map.of(), 2_000)
            .setSubscriptionsPerTopic(2)
            .setConsumersStartPaused(true)
            .build());
    worker.stub.start(StartRequest.getDefaultInstance());
    worker.stub.resumeConsumers(PauseRequest.newBuilder().addSubscriptions("sub-1").build());
    Thread.sleep(500);
    worker.stub.stopProducers(StopProducersRequest.newBuilder().setGraceMs(10_000).build());
    TotalFigures before = worker.await(t -> t.getSubscriptions(1).getLost() == 0);
    assertThat(before.getSubscriptions(0).getLost()).isEqualTo(before.getAcked());
    assertThat(before.getSubscriptions(1).getLost()).isZero();
    worker.stub.resumeConsumers(PauseRequest.getDefaultInstance());
    TotalFigures after = worker.stop();
    assertThat(after.getSubscriptions(0).getLost()).isZero();
    assertThat(after.getSubscriptions(0).getUnique()).isEqualTo(after.getAcked());
  }

  @Test
  void onlyTheLastSubscriptionsStartPausedWhereThatIsAsked() throws Exception {
    worker.stub.prepare(
        TestWorker.order(Map.of(), 2_000)
            .setSubscriptionsPerTopic(2)
            .setSubscriptionsStartPaused(1)
            .build());
    worker.stub.start(StartRequest.getDefaultInstance());
    Thread.sleep(500);
    worker.stub.stopProducers(StopProducersRequest.newBuilder().setGraceMs(10_000).build());
    TotalFigures before = worker.await(t -> t.getSubscriptions(0).getLost() == 0);
    assertThat(before.getSubscriptions(0).getLost()).isZero();
    assertThat(before.getSubscriptions(1).getLost()).isEqualTo(before.getAcked());
    worker.stub.resumeConsumers(PauseRequest.newBuilder().addSubscriptions("sub-1").build());
    assertThat(worker.stop().getSubscriptions(1).getUnique()).isEqualTo(before.getAcked());
  }

  @Test
  void aRateChangeTakesEffectAtItsInstant() throws Exception {
    worker.stub.prepare(TestWorker.order(Map.of(), 1_000).build());
    long from = worker.startMeasured(1000);
    worker.stub.setRate(
        SetRateRequest.newBuilder().setMsgsPerS(4_000).setAtMonoNs(from + 500_000_000L).build());
    assumeThat(System.nanoTime() - from).as("when the change was ordered").isLessThan(500_000_000);
    Thread.sleep(1_300);
    assertThat(worker.stop().getWindow().getIntended()).isBetween(2_499L, 2_501L);
  }

  @Test
  void aClosedLoopKeepsToItsLimitAndLosesNothing() throws Exception {
    PrepareRequest order =
        TestWorker.order(Map.of("ack_delay_us", "1000"), 0)
            .setArrival(Arrival.CLOSED_LOOP)
            .setClient(ClientOptions.newBuilder().setInFlightMessagesMax(50).setAcks("one").build())
            .build();
    long begun = System.nanoTime();
    TotalFigures t = worker.run(order, 500);
    long tookMs = (System.nanoTime() - begun) / 1_000_000;
    // At most 50 in flight for 1 ms each.
    assertThat(t.getAcked()).isBetween(100L, 50 * tookMs);
    assertThat(t.getUnresolved()).isZero();
    assertThat(TestFigures.decode(t.getWindow().getDelay()).getMaxValue()).isZero();
    assertThat(t.getSubscriptions(0).getLost()).isZero();
  }

  @Test
  void poissonArrivalsAreSeeded() throws Exception {
    PrepareRequest order =
        TestWorker.order(Map.of(), 4_000)
            .setArrival(Arrival.POISSON)
            .setProducersPerTopic(2)
            .build();
    long[] intended = new long[2];
    for (int i = 0; i < 2; i++) {
      worker.stub.prepare(order);
      worker.startMeasured(300);
      Thread.sleep(550);
      intended[i] = worker.stop().getWindow().getIntended();
    }
    assertThat(intended[0]).isEqualTo(intended[1]).isBetween(1_000L, 1_400L);
  }
}
