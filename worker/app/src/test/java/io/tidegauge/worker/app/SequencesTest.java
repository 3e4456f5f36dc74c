package io.tidegauge.worker.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.tidegauge.worker.proto.*;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.roaringbitmap.longlong.Roaring64NavigableMap;

/** The sets that a controller adds up over workers, as they come over the wire. */
class SequencesTest {
  private TestWorker worker;

  @BeforeEach
  void start() throws Exception {
    worker = new TestWorker();
  }

  @AfterEach
  void stop() {
    worker.close();
  }

  private List<SequencesPart> parts() {
    List<SequencesPart> all = new ArrayList<>();
    worker.stub.sequences(SequencesRequest.getDefaultInstance()).forEachRemaining(all::add);
    return all;
  }

  private static Roaring64NavigableMap set(ByteString bytes) throws IOException {
    Roaring64NavigableMap set = new Roaring64NavigableMap();
    set.deserializePortable(new DataInputStream(bytes.newInput()));
    return set;
  }

  @Test
  void whatWasSentComesFirstAndThenWhatEachSubscriptionReceived() throws Exception {
    Map<String, String> faults = Map.of("lose", "at:17", "fail_stored", "at:30");
    PrepareRequest order =
        TestWorker.order(faults, 5_000).setProducersPerTopic(2).setSubscriptionsPerTopic(2).build();
    TotalFigures totals = worker.run(order, 300);
    List<SequencesPart> parts = parts();
    assertThat(parts).hasSize(2 + 2 * 2);
    long sent = 0;
    for (int p = 0; p < 2; p++) {
      SentSequences of = parts.get(p).getSent();
      assertThat(of.getProducer()).isEqualTo(p);
      assertThat(set(of.getUnknown()).toArray()).containsExactly(30);
      sent += of.getSent();
      for (int s = 0; s < 2; s++) {
        ReceivedSequences received = parts.get(2 + 2 * s + p).getReceived();
        assertThat(received.getSubscription()).isEqualTo("sub-" + s);
        assertThat(received.getProducer()).isEqualTo(p);
        Roaring64NavigableMap missing = Roaring64NavigableMap.bitmapOf();
        missing.addRange(0, of.getSent());
        missing.andNot(set(received.getReceived()));
        assertThat(missing.toArray()).containsExactly(17);
      }
    }
    assertThat(sent).isEqualTo(totals.getSent());
  }

  @Test
  void askingWhileMessagesFlowChangesNothing() throws Exception {
    worker.stub.prepare(TestWorker.order(Map.of(), 20_000).build());
    worker.startMeasured(0);
    worker.await(t -> t.getSent() > 2_000);
    for (int i = 0; i < 20; i++) {
      assertThat(parts().get(0).getSent().getSent()).isGreaterThan(2_000);
    }
    TotalFigures totals = worker.stop();
    assertThat(totals.getSubscriptions(0).getUnique()).isEqualTo(totals.getSent());
    List<SequencesPart> parts = parts();
    assertThat(set(parts.get(1).getReceived().getReceived()).getLongCardinality())
        .isEqualTo(totals.getSent());
    assertThat(parts()).isEqualTo(parts);
  }

  @Test
  void withoutATrialThereAreNone() {
    assertThatThrownBy(this::parts).hasMessageContaining("no trial is prepared");
  }

  @Test
  void ofWhatWasNotReceivedThereIsNoSet() {
    PrepareRequest order = TestWorker.order(Map.of(), 1_000).build();
    Share only = Share.newBuilder().setWorkers(1).build();
    PrepareRequest shared = order.toBuilder().setShare(only).build();
    worker.stub.createTopics(shared);
    worker.stub.prepare(shared);
    List<SequencesPart> parts = parts();
    assertThat(parts).hasSize(1);
    assertThat(parts.get(0).getSent().getSent()).isZero();
    worker.stub.finish(FinishRequest.getDefaultInstance());
  }
}
