package io.tidegauge.worker.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.proto.Arrival;
import io.tidegauge.worker.proto.EffectiveSetting;
import io.tidegauge.worker.proto.FinishRequest;
import io.tidegauge.worker.proto.PrepareReply;
import io.tidegauge.worker.proto.PrepareRequest;
import io.tidegauge.worker.proto.SecondFigures;
import io.tidegauge.worker.proto.StopProducersRequest;
import io.tidegauge.worker.proto.SubscriptionTotals;
import io.tidegauge.worker.proto.TotalFigures;
import io.tidegauge.worker.proto.TotalsRequest;
import io.tidegauge.worker.proto.WatchRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Figures that must be exact however fast, late or faulty everything is. */
class ExactnessTest {
  private TestWorker worker;

  @BeforeEach
  void start() throws Exception {
    worker = new TestWorker();
  }

  @AfterEach
  void stop() {
    worker.close();
  }

  @Test
  void eachSecondBeginsWhereTheLastEnded() throws Exception {
    worker.run(TestWorker.order(Map.of(), 2_000).build(), 3_200);
    List<SecondFigures> seconds = new ArrayList<>();
    worker.stub.watch(WatchRequest.getDefaultInstance()).forEachRemaining(seconds::add);
    assertThat(seconds).hasSizeGreaterThanOrEqualTo(3);
    for (int i = 1; i < seconds.size(); i++) {
      assertThat(seconds.get(i).getFromMonoNs()).isEqualTo(seconds.get(i - 1).getUntilMonoNs());
    }
  }

  @Test
  void noMoreExamplesOfLostMessagesThanLostMessages() throws Exception {
    Map<String, String> faults = Map.of("lose", "at:17", "flip_header", "at:30,31");
    TotalFigures t = worker.run(TestWorker.order(faults, 5_000).build(), 300);
    SubscriptionTotals s = t.getSubscriptions(0);
    assertThat(s.getLost()).isEqualTo(1);
    assertThat(s.getLostExamplesList()).hasSize(1);
    faults = Map.of("flip_header", "at:30,31");
    t = worker.run(TestWorker.order(faults, 5_000).build(), 300);
    assertThat(t.getSubscriptions(0).getLost()).isZero();
    assertThat(t.getSubscriptions(0).getLostExamplesList()).isEmpty();
  }

  @Test
  void everythingDueIsCountedWhenTheStopReturnsHoweverMuchItIs() throws Exception {
    worker.stub.prepare(TestWorker.order(Map.of(), 500e6).setProducersPerTopic(2).build());
    worker.startMeasured(500);
    Thread.sleep(600);
    worker.stub.stopProducers(StopProducersRequest.newBuilder().setGraceMs(100).build());
    TotalFigures t = worker.stub.totals(TotalsRequest.getDefaultInstance());
    assertThat(t.getWindow().getIntended()).isEqualTo(250_000_000);
    worker.stop();
  }

  @Test
  void nothingIsReceivedBeforeItWasSent() throws Exception {
    TotalFigures t =
        worker.run(TestWorker.order(Map.of(), 0).setArrival(Arrival.CLOSED_LOOP).build(), 1_500);
    assertThat(t.getSubscriptions(0).getUnique()).isGreaterThan(1_000);
    assertThat(t.getSubscriptions(0).getNegativeLatency()).isZero();
  }

  /** The group that never fills is acknowledged when the producers stop. */
  @Test
  void acknowledgementsReportedTogetherAreAllCounted() throws Exception {
    Map<String, String> settings = Map.of("ack_batch", "64", "fail_stored", "at:100");
    TotalFigures t = worker.run(TestWorker.order(settings, 5_000).build(), 500);
    assertThat(t.getAcked()).isEqualTo(t.getSent() - 1).isGreaterThan(1_000);
    assertThat(t.getUnresolved()).isZero();
    assertThat(t.getSubscriptions(0).getLost()).isZero();
    // 64 messages at 5,000 a second: the first of a group waits for nearly 13 ms.
    assertThat(TestFigures.decode(t.getWindow().getResponse()).getMaxValue())
        .isGreaterThan(10_000_000);
  }

  /** With fewer than asked for, systems would be compared by unequal windows. */
  @Test
  void boundsAreTakenAsAskedForOrRefused() throws Exception {
    PrepareRequest.Builder order = TestWorker.order(Map.of(), 10).setProducersPerTopic(2);
    order.getPayloadBuilder().setMessageBytes(1 << 20);
    order.getClientBuilder().setInFlightMessagesMax(20).setReceiveQueueMessages(32);
    PrepareReply reply = worker.stub.prepare(order.build());
    Map<String, String> engine =
        reply.getClientSettingsList().stream()
            .filter(s -> s.getScope().equals("engine"))
            .collect(Collectors.toMap(EffectiveSetting::getName, EffectiveSetting::getValue));
    assertThat(engine)
        .containsEntry("in_flight_messages_max", "20")
        .containsEntry("receive_queue_messages", "32");
    worker.stub.finish(FinishRequest.getDefaultInstance());
    order.getClientBuilder().setInFlightMessagesMax(50_000);
    assertThatThrownBy(() -> worker.stub.prepare(order.build()))
        .hasMessageContaining("INVALID_ARGUMENT: in_flight_messages_max: 100000 MiB of messages");
  }
}
