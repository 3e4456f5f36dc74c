package io.tidegauge.worker.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.engine.Share;
import io.tidegauge.worker.engine.TrialPlan;
import io.tidegauge.worker.proto.Arrival;
import io.tidegauge.worker.proto.ClientOptions;
import io.tidegauge.worker.proto.LastPosition;
import io.tidegauge.worker.proto.Payload;
import io.tidegauge.worker.proto.PrepareRequest;
import io.tidegauge.worker.proto.ReadBackRequest;
import io.tidegauge.worker.proto.TopicSpec;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Orders on their way through the protocol: every part has a value of its own. */
class TranslationTest {
  @Test
  void clientOptionsKeepTheirPlaces() {
    ClientOptions given =
        ClientOptions.newBuilder()
            .setBatchBytesMax(1)
            .setBatchDelayUsMax(2)
            .setInFlightMessagesMax(3)
            .setReceiveQueueMessages(4)
            .setConnectionsPerBroker(5)
            .setAcks("one")
            .setOutcomeTimeoutMs(6)
            .putProducerOverrides("p", "7")
            .putConsumerOverrides("c", "8")
            .build();
    assertThat(FromProto.client(given, payload(9, 11)))
        .isEqualTo(
            new io.tidegauge.worker.api.ClientOptions(
                1, 2, "none", 3, 4, 5, "one", 9, 11, Map.of("p", "7"), Map.of("c", "8"), 6));
    io.tidegauge.worker.api.ClientOptions byDefault =
        FromProto.client(ClientOptions.getDefaultInstance(), payload(9, 0));
    assertThat(byDefault.acks()).isEqualTo("all");
    assertThat(byDefault.messageBytesMax()).isEqualTo(9);
  }

  private static Payload payload(int messageBytes, int messageBytesMax) {
    return Payload.newBuilder()
        .setMessageBytes(messageBytes)
        .setMessageBytesMax(messageBytesMax)
        .build();
  }

  @Test
  void theShareThatMayBeSpunAwayIsTakenAsGiven() {
    PrepareRequest.Builder order =
        PrepareRequest.newBuilder()
            .addTopics(TopicSpec.newBuilder().setName("t").setPartitions(1))
            .setProducersPerTopic(1)
            .setPayload(Payload.newBuilder().setMessageBytes(100))
            .setArrival(Arrival.UNIFORM)
            .setClient(ClientOptions.newBuilder().setInFlightMessagesMax(1));
    assertThat(spinShareOf(order)).isEqualTo(TrialPlan.Variant.SPIN_SHARE_MAX);
    assertThat(spinShareOf(order.setSpinShareMax(0))).isZero();
    assertThat(spinShareOf(order.setSpinShareMax(0.25))).isEqualTo(0.25);
    order.setSpinShareMax(1.01);
    assertThatThrownBy(() -> spinShareOf(order)).hasMessageContaining("must be 0 to 1: 1.01");
  }

  private static double spinShareOf(PrepareRequest.Builder order) {
    return FromProto.plan(order.build()).variant().spinShareMax();
  }

  @Test
  void theGrainIsTakenAsGivenOrLeftToTheCpus() {
    PrepareRequest.Builder order = TestWorker.order(Map.of(), 1);
    assertThat(grainOf(order)).isEqualTo(TrialPlan.Variant.GRAIN_BY_CPUS);
    assertThat(grainOf(order.setGrainNs(0))).isZero();
    assertThat(grainOf(order.setGrainNs(20_000))).isEqualTo(20_000);
  }

  private static long grainOf(PrepareRequest.Builder order) {
    return FromProto.plan(order.build()).variant().grainNs();
  }

  @Test
  void aShareSaysWhichWorkerOfHowMany() {
    PrepareRequest.Builder order = TestWorker.order(Map.of(), 1);
    assertThat(FromProto.plan(order.build()).isShared()).isFalse();
    order.getShareBuilder().setWorker(2).setWorkers(3);
    TrialPlan plan = FromProto.plan(order.build());
    assertThat(plan.isShared()).isTrue();
    assertThat(plan.share()).isEqualTo(new Share(2, 3));
    order.getShareBuilder().setWorker(3);
    assertThatThrownBy(() -> FromProto.plan(order.build()))
        .hasMessage("there is no worker 3 among 3, counted from 0");
  }

  @Test
  void theLastPositionsKnownAreThoseOfTheTopic() {
    ReadBackRequest request =
        ReadBackRequest.newBuilder()
            .addLast(LastPosition.newBuilder().setTopic(0).setPartition(0).setPosition(50))
            .addLast(LastPosition.newBuilder().setTopic(1).setPartition(0).setPosition(70))
            .addLast(LastPosition.newBuilder().setTopic(1).setPartition(1).setPosition(71))
            .build();
    assertThat(ReadBack.last(request, 0)).isEqualTo(Map.of(0, 50L));
    assertThat(ReadBack.last(request, 1)).isEqualTo(Map.of(0, 70L, 1, 71L));
  }

  @Test
  void aRenewedLeaseCountsFromItsRenewal() {
    Lease lease = new Lease(why -> {});
    lease.renew(3_600_000);
    assertThat(lease.overdue()).isNull();
    lease.renew(-1);
    assertThat(lease.overdue()).isEqualTo("the controller was silent for -1 ms");
  }
}
