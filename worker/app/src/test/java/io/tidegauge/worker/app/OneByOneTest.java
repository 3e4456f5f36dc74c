package io.tidegauge.worker.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.CommittedPosition;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.TrialPlan;
import io.tidegauge.worker.proto.AckedMessage;
import io.tidegauge.worker.proto.WitnessReply;
import io.tidegauge.worker.proto.WitnessRequest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What is asked of a system message by message, with a driver that answers at once. */
class OneByOneTest {
  private final Answering driver = new Answering();

  private static TrialPlan plan() {
    return FromProto.plan(TestWorker.order(Map.of(), 1_000).setSubscriptionsPerTopic(2).build());
  }

  @Test
  void aWitnessesMessageIsBetweenTheTwoInstantsReportedForIt() throws Exception {
    WitnessRequest request =
        WitnessRequest.newBuilder().setMessages(2).setTimeoutMs(60_000).build();
    WitnessReply reply = Witness.run(driver, plan(), request);
    // The first one sent warms the client up and is not reported.
    assertThat(driver.sentNs).hasSize(3);
    assertThat(reply.getMessagesCount()).isEqualTo(2);
    for (int i = 0; i < 2; i++) {
      AckedMessage reported = reply.getMessages(i);
      assertThat(reported.getSentMonoNs()).isLessThanOrEqualTo(driver.sentNs.get(i + 1));
      assertThat(reported.getAckedMonoNs()).isGreaterThanOrEqualTo(driver.sentNs.get(i + 1));
    }
  }

  @Test
  void aProbeWhoseMessageIsRefusedFails() {
    driver.failure = new IOException("read only");
    assertThatThrownBy(() -> Probe.run(driver, "probe", 1, 60_000))
        .isInstanceOf(DriverException.class)
        .hasMessageContaining("read only");
  }

  /** Whoever may not write may often not delete either. */
  @Test
  void theFirstFailureIsReportedNotThatOfTheDeletionAfterIt() {
    driver.failure = new IOException("read only");
    driver.undeletable = new DriverException("no right to delete");
    WitnessRequest request = WitnessRequest.newBuilder().setTimeoutMs(60_000).build();
    assertThatThrownBy(() -> Witness.run(driver, plan(), request))
        .hasMessageContaining("was not acknowledged: IOException: read only")
        .hasSuppressedException(driver.undeletable);
    assertThatThrownBy(() -> Probe.run(driver, "probe", 1, 60_000))
        .hasMessageContaining("read only")
        .hasSuppressedException(driver.undeletable);
    driver.failure = null;
    assertThatThrownBy(() -> Witness.run(driver, plan(), request)).isSameAs(driver.undeletable);
  }

  @Test
  void positionsAreReportedUnderTheirSubscriptionsName() throws Exception {
    assertThat(ReadBack.positions(driver, plan()).getPositionsList())
        .extracting(position -> position.getSubscription() + " " + position.getPosition())
        .containsExactly("sub-0 10", "sub-1 20");
  }

  /** Acknowledges each message within the call, or fails it. */
  private static final class Answering implements Driver, MessageProducer, MessageConsumer {
    final List<Long> sentNs = new ArrayList<>();
    Throwable failure;
    DriverException undeletable;

    @Override
    public void send(InFlight message) {
      sentNs.add(System.nanoTime());
      if (failure == null) {
        message.acked();
      } else {
        message.failed(failure);
      }
    }

    @Override
    public List<CommittedPosition> committedPositions(TopicSpec topic, List<String> subscriptions) {
      return List.of(new CommittedPosition(0, 0, 10), new CommittedPosition(1, 0, 20));
    }

    @Override
    public MessageProducer createProducer(ProducerSpec spec) {
      return this;
    }

    @Override
    public MessageConsumer createConsumer(ConsumerSpec spec, MessageSink sink) {
      return this;
    }

    @Override
    public boolean retainsValue() {
      return false;
    }

    @Override
    public void createTopics(List<TopicSpec> topics) {}

    @Override
    public void deleteTopics(List<String> names) throws DriverException {
      if (undeletable != null) {
        throw undeletable;
      }
    }

    @Override
    public List<EffectiveSetting> describe(List<String> topics) {
      return List.of();
    }

    @Override
    public List<EffectiveSetting> clientSettings() {
      return List.of();
    }

    @Override
    public void flush() {}

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    @Override
    public void close() {}
  }
}
