package io.tidegauge.worker.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.proto.*;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every fault that the null system injects is counted exactly, through the real service. */
class FaultsTest {
  private TestWorker worker;

  @BeforeEach
  void start() throws Exception {
    worker = new TestWorker();
  }

  @AfterEach
  void stop() {
    worker.close();
  }

  private TotalFigures run(Map<String, String> settings) throws Exception {
    return worker.run(TestWorker.order(settings, 5_000).build(), 400);
  }

  private static SubscriptionTotals only(TotalFigures t) {
    assertThat(t.getSubscriptionsCount()).isEqualTo(1);
    return t.getSubscriptions(0);
  }

  @Test
  void aSoundSystemHasNoFaults() throws Exception {
    TotalFigures t = run(Map.of());
    SubscriptionTotals s = only(t);
    assertThat(t.getErrorsList()).isEmpty();
    assertThat(t.getSent()).isGreaterThan(1000).isEqualTo(t.getAcked());
    assertThat(t.getUnresolved()).isZero();
    assertThat(t.getWindow().getIntended()).isEqualTo(t.getSent());
    assertThat(t.getWindow().getAcked()).isEqualTo(t.getSent());
    assertThat(t.getWindow().getAckedWithin()).isEqualTo(t.getSent());
    assertThat(t.getWindow().getAckedBytes()).isEqualTo(t.getSent() * 200);
    assertThat(s.getReceived()).isEqualTo(t.getSent()).isEqualTo(s.getUnique());
    assertThat(s.getWindowReceived()).isEqualTo(t.getSent());
    assertThat(
            s.getLost()
                + s.getDuplicated()
                + s.getReordered()
                + s.getCorrupt()
                + s.getForeign()
                + s.getNegativeLatency())
        .isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"at:0,17,64,1000", "every:250:max:4"})
  void lossesAreExact(String where) throws Exception {
    SubscriptionTotals s = only(run(Map.of("lose", where)));
    assertThat(s.getLost()).isEqualTo(4);
    assertThat(s.getLostExamplesList()).hasSize(4);
    assertThat(s.getDuplicated() + s.getReordered() + s.getCorrupt()).isZero();
  }

  @Test
  void lostMessagesAreNamed() throws Exception {
    SubscriptionTotals s = only(run(Map.of("lose", "at:17,64")));
    assertThat(s.getLostExamplesList())
        .containsExactly("producer 0 sequence 17", "producer 0 sequence 64");
  }

  @Test
  void duplicatesAreExact() throws Exception {
    TotalFigures t = run(Map.of("duplicate", "at:3,4,900"));
    SubscriptionTotals s = only(t);
    assertThat(s.getDuplicated()).isEqualTo(3);
    assertThat(s.getReceived()).isEqualTo(t.getSent() + 3);
    assertThat(s.getUnique()).isEqualTo(t.getSent());
    assertThat(s.getLost() + s.getReordered() + s.getCorrupt()).isZero();
  }

  @Test
  void swapsAreExact() throws Exception {
    SubscriptionTotals s = only(run(Map.of("swap", "at:5,10,11,700")));
    // 11 is delivered on time, since 10 is still held and overtaken by it.
    assertThat(s.getReordered()).isEqualTo(3);
    assertThat(s.getLost() + s.getDuplicated() + s.getCorrupt()).isZero();
  }

  @Test
  void flippedBitsInBodiesAreExactAndNoLoss() throws Exception {
    SubscriptionTotals s = only(run(Map.of("flip_body", "every:100:max:7")));
    assertThat(s.getCorrupt()).isEqualTo(7);
    assertThat(s.getCorruptUnattributed() + s.getLost() + s.getDuplicated()).isZero();
  }

  @Test
  void flippedBitsInHeadersAreExactAndNoLoss() throws Exception {
    SubscriptionTotals s = only(run(Map.of("flip_header", "every:100:max:9")));
    assertThat(s.getCorrupt()).isEqualTo(9);
    assertThat(s.getCorruptUnattributed()).isEqualTo(9);
    assertThat(s.getLost() + s.getDuplicated() + s.getReordered() + s.getForeign()).isZero();
  }

  @Test
  void allFaultsTogetherAreDistinguished() throws Exception {
    SubscriptionTotals s =
        only(
            run(
                Map.of(
                    "lose", "at:10,20,30",
                    "duplicate", "at:40,50",
                    "swap", "at:60",
                    "flip_body", "at:70,80,90,100",
                    "flip_header", "at:110,120")));
    assertThat(s.getLost()).isEqualTo(3);
    assertThat(s.getDuplicated()).isEqualTo(2);
    assertThat(s.getReordered()).isEqualTo(1);
    assertThat(s.getCorrupt()).isEqualTo(6);
    assertThat(s.getCorruptUnattributed()).isEqualTo(2);
  }

  @Test
  void aFailedSendIsNeverALoss() throws Exception {
    TotalFigures t = run(Map.of("fail_lost", "at:5,6,7", "fail_stored", "at:8,9"));
    SubscriptionTotals s = only(t);
    assertThat(t.getFailed()).isEqualTo(5).isEqualTo(t.getWindow().getFailed());
    assertThat(t.getAcked()).isEqualTo(t.getSent() - 5);
    assertThat(s.getUnique()).isEqualTo(t.getSent() - 3);
    assertThat(s.getLost()).isZero();
    assertThat(t.getErrorsList())
        .singleElement()
        .satisfies(e -> assertThat(e.getCount()).isEqualTo(5));
  }

  @Test
  void faultsCountForEachSubscriptionAndProducer() throws Exception {
    PrepareRequest order =
        TestWorker.order(Map.of("lose", "at:10,11"), 6_000)
            .setTopics(0, TopicSpec.newBuilder().setName("t0").setPartitions(4))
            .setProducersPerTopic(3)
            .setSubscriptionsPerTopic(2)
            .setConsumersPerSubscription(3)
            .setKeys(KeyChoice.RANDOM)
            .setDistinctKeys(100)
            .build();
    TotalFigures t = worker.run(order, 400);
    assertThat(t.getSubscriptionsCount()).isEqualTo(2);
    for (SubscriptionTotals s : t.getSubscriptionsList()) {
      assertThat(s.getLost()).isEqualTo(6);
      assertThat(s.getUnique()).isEqualTo(t.getSent() - 6);
      assertThat(s.getDuplicated() + s.getReordered() + s.getCorrupt()).isZero();
    }
  }

  @Test
  void faultsAreExactWhenTheSystemAnswersLate() throws Exception {
    TotalFigures t =
        run(
            Map.of(
                "ack_delay_us", "2000",
                "lose", "at:10",
                "flip_body", "at:11",
                "duplicate", "at:12",
                "swap", "at:13"));
    SubscriptionTotals s = only(t);
    assertThat(s.getLost()).isEqualTo(1);
    assertThat(s.getCorrupt()).isEqualTo(1);
    assertThat(s.getDuplicated()).isEqualTo(1);
    assertThat(s.getReordered()).isEqualTo(1);
    assertThat(TestFigures.decode(t.getWindow().getResponse()).getMinValue())
        .isGreaterThanOrEqualTo(1_990_000);
  }
}
