package io.tidegauge.worker.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.tidegauge.worker.nulldriver.NullServer;
import io.tidegauge.worker.proto.*;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.roaringbitmap.longlong.Roaring64NavigableMap;

/** Three workers and one null system behind a socket: faults at known places. */
class SharedWorkersTest {
  private static final int WORKERS = 3;
  private static final int PRODUCERS = 4;
  private static final int CONSUMERS = 3;

  private final List<TestWorker> workers = new ArrayList<>();
  private NullServer server;

  @BeforeEach
  void start() throws Exception {
    server = new NullServer(InetAddress.getLoopbackAddress());
    for (int w = 0; w < WORKERS; w++) {
      workers.add(new TestWorker());
    }
  }

  @AfterEach
  void stop() throws Exception {
    workers.forEach(TestWorker::close);
    server.close();
  }

  private PrepareRequest order(int worker, Map<String, String> faults) {
    Map<String, String> settings = new TreeMap<>(faults);
    settings.put("address", "127.0.0.1:" + server.port());
    PrepareRequest.Builder order =
        TestWorker.order(settings, 8_000)
            .setProducersPerTopic(PRODUCERS)
            .setSubscriptionsPerTopic(2)
            .setConsumersPerSubscription(CONSUMERS)
            .setShare(Share.newBuilder().setWorker(worker).setWorkers(WORKERS));
    order.getTopicsBuilder(0).setPartitions(6);
    return order.build();
  }

  private static Roaring64NavigableMap set(ByteString bytes) throws IOException {
    Roaring64NavigableMap set = new Roaring64NavigableMap();
    set.deserializePortable(new DataInputStream(bytes.newInput()));
    return set;
  }

  private void run(Map<String, String> faults) throws Exception {
    for (int w = 0; w < WORKERS; w++) {
      workers.get(w).stub.createTopics(order(w, faults));
    }
    for (int w = 0; w < WORKERS; w++) {
      workers.get(w).stub.prepare(order(w, faults));
    }
    long at = System.nanoTime() + 500_000_000;
    for (TestWorker worker : workers) {
      worker.stub.setWindow(SetWindowRequest.newBuilder().setFromMonoNs(at).build());
      worker.stub.start(StartRequest.newBuilder().setAtMonoNs(at).build());
    }
    for (TestWorker worker : workers) {
      worker.await(t -> t.getSent() >= 1_000);
    }
    for (TestWorker worker : workers) {
      StopProducersRequest request = StopProducersRequest.newBuilder().setGraceMs(10_000).build();
      long asked = System.nanoTime();
      StopProducersReply reply = worker.stub.stopProducers(request);
      assertThat(reply.getUnresolved()).isZero();
      assertThat(reply.getStoppedMonoNs()).isBetween(asked, System.nanoTime());
      // Asking again changes nothing.
      assertThat(worker.stub.stopProducers(request)).isEqualTo(reply);
    }
  }

  private List<TotalFigures> totals() {
    return workers.stream()
        .map(worker -> worker.stub.totals(TotalsRequest.getDefaultInstance()))
        .toList();
  }

  private static long received(List<TotalFigures> totals) {
    return totals.stream()
        .flatMap(t -> t.getSubscriptionsList().stream())
        .mapToLong(SubscriptionTotals::getReceived)
        .sum();
  }

  /**
   * Once so many messages have come as were sent, or time is up.
   *
   * @param more copies of each producer's, less those that never come, to each subscription
   */
  private List<TotalFigures> settled(int more) throws InterruptedException {
    long deadline = System.nanoTime() + 30_000_000_000L;
    List<TotalFigures> now = totals();
    long sent = now.stream().mapToLong(TotalFigures::getSent).sum();
    while (received(now) < 2 * (sent + more * PRODUCERS) && System.nanoTime() < deadline) {
      Thread.sleep(20);
      now = totals();
    }
    assertThat(received(now)).isEqualTo(2 * (sent + more * PRODUCERS));
    return now;
  }

  @Test
  void eachFaultIsCountedExactlyAndBlamedOnItsProducer() throws Exception {
    run(
        Map.of(
            "lose", "at:100,101",
            "duplicate", "at:200",
            "swap", "at:300",
            "flip_body", "at:400",
            "fail_lost", "at:500"));
    List<TotalFigures> totals = settled(1 - 3);
    Map<Integer, Long> sent = new TreeMap<>();
    Map<Integer, Roaring64NavigableMap> unknown = new TreeMap<>();
    Map<String, Map<Integer, Roaring64NavigableMap>> received = new TreeMap<>();
    for (TestWorker worker : workers) {
      worker.stub.finish(FinishRequest.getDefaultInstance());
      var parts = worker.stub.sequences(SequencesRequest.getDefaultInstance());
      while (parts.hasNext()) {
        SequencesPart part = parts.next();
        if (part.hasSent()) {
          sent.put(part.getSent().getProducer(), part.getSent().getSent());
          unknown.put(part.getSent().getProducer(), set(part.getSent().getUnknown()));
        } else {
          ReceivedSequences of = part.getReceived();
          received
              .computeIfAbsent(of.getSubscription(), s -> new TreeMap<>())
              .computeIfAbsent(of.getProducer(), p -> new Roaring64NavigableMap())
              .or(set(of.getReceived()));
        }
      }
    }
    assertThat(sent).hasSize(PRODUCERS);
    for (int p = 0; p < PRODUCERS; p++) {
      assertThat(unknown.get(p).toArray()).containsExactly(500);
      for (String subscription : List.of("sub-0", "sub-1")) {
        Roaring64NavigableMap missing = Roaring64NavigableMap.bitmapOf();
        missing.addRange(0, sent.get(p));
        missing.andNot(received.get(subscription).get(p));
        missing.andNot(unknown.get(p));
        assertThat(missing.toArray()).containsExactly(100, 101);
      }
    }
    for (int s = 0; s < 2; s++) {
      int number = s;
      List<SubscriptionTotals> found =
          totals.stream().map(t -> t.getSubscriptions(number)).toList();
      assertThat(found).allMatch(t -> t.getReceived() > 0);
      assertThat(found.stream().mapToLong(SubscriptionTotals::getDuplicated).sum())
          .isEqualTo(PRODUCERS);
      assertThat(found.stream().mapToLong(SubscriptionTotals::getReordered).sum())
          .isEqualTo(PRODUCERS);
      assertThat(found.stream().mapToLong(SubscriptionTotals::getCorrupt).sum())
          .isEqualTo(PRODUCERS);
    }
  }

  @Test
  void theTopicsOfAFinishedTrialAreDeletedByOneWorker() throws Exception {
    run(Map.of());
    settled(0);
    workers.get(0).stub.finish(FinishRequest.getDefaultInstance());
    workers.get(2).stub.finish(FinishRequest.getDefaultInstance());
    workers.get(1).stub.finish(FinishRequest.newBuilder().setDeleteTopics(true).build());
    String words =
        org.assertj.core.api.Assertions.catchThrowable(
                () -> workers.get(0).stub.prepare(order(0, Map.of())))
            .getMessage();
    assertThat(words).contains("there is no topic t0");
  }
}
