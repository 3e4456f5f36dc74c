package io.tidegauge.worker.engine.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Records;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.histogram.HistogramEncoder;
import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import io.tidegauge.worker.engine.history.HistoryFile;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;
import io.tidegauge.worker.engine.os.Heartbeat;
import io.tidegauge.worker.engine.schedule.RateProfile;
import io.tidegauge.worker.engine.schedule.RateSchedule;
import io.tidegauge.worker.engine.schedule.Schedule;
import io.tidegauge.worker.engine.schedule.UniformArrivals;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Messages from their schedule to their outcome, with clients that do as they are told. */
class SendingTest {
  private static final int BYTES = 100;
  private static final long SECOND_NS = 1_000_000_000L;

  private final PayloadPool pool = PayloadPool.seeded(1, BYTES, 1, 1);
  private final Live live = new Live();
  private final AckRecorders acks = new AckRecorders();
  private final ErrorLog errors = new ErrorLog();
  private final Producer.Context context = new Producer.Context(9, pool, live, acks, errors);

  private Producer producer(Consumer<Slot> send, HistoryFile history) {
    return producer(send, history, context, 4);
  }

  private static Producer producer(
      Consumer<Slot> send, HistoryFile history, Producer.Context context, int ownValues) {
    MessageProducer client =
        new MessageProducer() {
          @Override
          public void send(InFlight message) {
            send.accept((Slot) message);
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Keys keys = new Keys(Keys.Rule.of(Keys.Choice.NONE, 0, 1, 0), new byte[0][], 0);
    return new Producer(0, client, keys, 4, ownValues, context, history);
  }

  /** Runs in this thread until the client has set {@link Live#aborted}. */
  private Producer run(long startNs, Consumer<Slot> send) {
    Producer producer = producer(send, null);
    live.profile = RateProfile.startingAt(startNs, 1_000);
    producer.follow(new Schedule(new UniformArrivals(0, 1), live.profile));
    Producer[] producers = {producer};
    new LoadThread("test", producers, live, null, errors, new Heartbeat(), SECOND_NS, 0.05, 0)
        .run();
    return producer;
  }

  @Test
  void aMessageSentLateKeepsItsIntendedTime() {
    long start = System.nanoTime() - SECOND_NS;
    List<Long> intended = new ArrayList<>();
    run(
        start,
        slot -> {
          assertThat(slot.sentNs()).isGreaterThanOrEqualTo(start + SECOND_NS);
          assertThat(MessageHeader.intendedNs(slot.value(), 0)).isEqualTo(slot.intendedNs());
          intended.add(slot.intendedNs() - start);
          live.aborted = intended.size() == 3;
          slot.acked();
        });
    assertThat(errors.all()).isEmpty();
    assertThat(intended).containsExactly(0L, 1_000_000L, 2_000_000L);
  }

  /** In the order of their sending: the producer's number and the intended time, ns. */
  private List<long[]> sentBy(int producers, double msgsPerS, int messages, long grainNs) {
    List<long[]> sent = new ArrayList<>();
    live.profile = RateProfile.startingAt(System.nanoTime(), msgsPerS);
    Producer[] all = new Producer[producers];
    for (int i = 0; i < producers; i++) {
      int number = i;
      all[i] =
          producer(
              slot -> {
                sent.add(new long[] {number, slot.intendedNs(), slot.sentNs()});
                live.aborted = sent.size() == messages;
                slot.acked();
              },
              null);
      all[i].follow(new Schedule(new UniformArrivals(i, producers), live.profile));
    }
    new LoadThread("test", all, live, null, errors, new Heartbeat(), SECOND_NS, 0, grainNs).run();
    return sent;
  }

  @Test
  void manyProducersSendInTurnEvenlySpread() {
    List<long[]> sent = sentBy(1_000, 100_000, 3_000, 0);
    assertThat(errors.all()).isEmpty();
    for (int i = 0; i < sent.size(); i++) {
      assertThat(sent.get(i)[0]).isEqualTo(i % 1_000);
      assertThat(sent.get(i)[1] - live.profile.startNs()).isEqualTo(i * 10_000L);
    }
  }

  @Test
  void messagesAreSentTogetherOnceInTwoGrainsAndNoneEarly() {
    List<long[]> sent = sentBy(4, 20_000, 2_000, 400_000);
    List<Long> atOnce = new ArrayList<>();
    long wakeUps = 0;
    long lastNs = 0;
    for (long[] message : sent) {
      assertThat(message[2]).isGreaterThanOrEqualTo(message[1]);
      // What one wake-up sends follows within less than the time until the next message is due.
      wakeUps += message[2] - lastNs > 40_000 ? 1 : 0;
      lastNs = message[2];
      atOnce.add(message[1]);
    }
    assertThat(atOnce).isSorted();
    // 16 messages are due in 800 us; a busy machine wakes the thread less often, never more.
    assertThat(wakeUps).isLessThan(sent.size() / 10);
  }

  @Test
  void aBlockedProducerDoesNotHoldUpTheOthers() {
    List<Slot> kept = new ArrayList<>();
    List<Integer> sent = new ArrayList<>();
    live.profile = RateProfile.startingAt(System.nanoTime(), 100_000);
    Producer[] both = new Producer[2];
    both[0] = producer(kept::add, null);
    both[1] =
        producer(
            slot -> {
              sent.add(kept.size());
              if (sent.size() == 100) {
                // Its system answers at last: it sends what it owes.
                List.copyOf(kept).forEach(Slot::acked);
              }
              live.aborted = kept.size() > 4 && sent.size() > 100;
              slot.acked();
            },
            null);
    for (int i = 0; i < 2; i++) {
      both[i].follow(new Schedule(new UniformArrivals(i, 2), live.profile));
    }
    LoadThread thread =
        new LoadThread("test", both, live, null, errors, new Heartbeat(), SECOND_NS, 0, 0);
    thread.run();
    assertThat(sent.subList(20, 100)).containsOnly(4);
    assertThat(kept.size()).isGreaterThan(4);
    assertThat(thread.recorder().get(LoadRecorder.BLOCKED_NS)).isPositive();
  }

  @Test
  void aSendThatThrowsIsAFailureOfItsMessage() {
    Producer producer =
        run(
            System.nanoTime(),
            slot -> {
              live.aborted = true;
              throw new IllegalStateException("closed");
            });
    assertThat(acks.sum(AckRecorder.FAILED)).isEqualTo(1);
    assertThat(producer.failed().contains(0)).isTrue();
    assertThat(errors.all())
        .containsExactly(new ErrorLog.ErrorCount("send", "IllegalStateException: closed", 1));
  }

  @Test
  void anOutcomeCountsOnce() {
    Slot slot = producer(unsent -> {}, null).take();
    slot.fill(slot.ownValue, null, 0, 1_000, 2_000);
    slot.acked(3_000);
    slot.acked(4_000);
    slot.failed(new IOException("late"));
    assertThat(acks.sum(AckRecorder.ACKED)).isEqualTo(1);
    assertThat(acks.sum(AckRecorder.FAILED)).isZero();
    assertThat(errors.all()).singleElement().extracting("where", "count").contains("engine", 2L);
  }

  @Test
  void onlyWhatWasRefusedIsWrittenDownAsNotStored(@TempDir Path directory) throws Exception {
    try (HistoryFile history = HistoryFile.create(directory, 9, 0)) {
      Producer producer = producer(unsent -> {}, history);
      for (int sequence = 0; sequence < 2; sequence++) {
        Slot slot = producer.take();
        slot.fill(slot.ownValue, null, sequence, 1_000, 2_000);
        if (sequence == 0) {
          slot.failed(new IOException("timed out"));
        } else {
          slot.refused(new IOException("too large"));
        }
      }
    }
    ByteBuffer records =
        ByteBuffer.wrap(Files.readAllBytes(directory.resolve("producer-00000.history")))
            .order(ByteOrder.LITTLE_ENDIAN);
    List<Integer> kinds = new ArrayList<>();
    for (int at = 32; at < records.limit(); at += 32) {
      kinds.add(records.getInt(at + 28));
    }
    // Invoked and unknown, invoked and refused.
    assertThat(kinds).containsExactly(1, 3, 1, 4);
  }

  @Test
  void aRecordHasItsMessagesByIntendedTimeAndItsArrivalsByArrival() throws Exception {
    RateSchedule schedule =
        new RateSchedule(
            List.of(
                new RateSchedule.Phase(10, 10, SECOND_NS, 0),
                new RateSchedule.Phase(10, 10, SECOND_NS, 1)),
            false);
    Window window = new Window(1, 0, 2 * SECOND_NS, schedule);
    AckRecorder recorder = new AckRecorder();
    recorder.acked(window, 900_000_000, 1_000_000_000, 1_100_000_000, 0);
    Records records = recorder.records();
    assertThat(records.get(0, AckRecorder.RECORD_ACKED)).isEqualTo(1);
    assertThat(records.get(1, AckRecorder.RECORD_ACKED)).isZero();
    assertThat(records.get(0, AckRecorder.RECORD_ACKED_WITHIN)).isZero();
    assertThat(records.get(1, AckRecorder.RECORD_ACKED_WITHIN)).isEqualTo(1);
    assertThat(latencyMs(records, AckRecorder.RECORD_RESPONSE)).isEqualTo(200);
    assertThat(latencyMs(records, AckRecorder.RECORD_SERVICE)).isEqualTo(100);
  }

  private static long latencyMs(Records records, int series) throws Exception {
    List<LatencyHistogram> parts = new ArrayList<>();
    records.addTo(0, series, parts);
    ByteBuffer encoded = ByteBuffer.wrap(new HistogramEncoder().encode(parts));
    Histogram latencies = Histogram.decodeFromCompressedByteBuffer(encoded, 1);
    return Math.round(latencies.getMaxValue() / 1e6);
  }

  /** Messages of the window and before it that producers with these shares sent. */
  private long[] countSent(long... shares) {
    long start = System.nanoTime();
    live.profile = RateProfile.startingAt(start, 1_000);
    live.window = new Window(1, start + SECOND_NS / 10, Long.MAX_VALUE);
    live.stopAtNs = start + SECOND_NS / 2;
    long[] sent = new long[2];
    Producer[] all = new Producer[shares.length];
    for (int i = 0; i < all.length; i++) {
      all[i] =
          producer(
              slot -> {
                sent[live.window.contains(slot.intendedNs()) ? 1 : 0]++;
                slot.acked();
              },
              null);
      all[i].follow(new Schedule(new UniformArrivals(i, all.length), live.profile));
      all[i].limitWindow(shares[i]);
    }
    LoadThread thread =
        new LoadThread("test", all, live, null, errors, new Heartbeat(), SECOND_NS, 0, 0);
    thread.run();
    assertThat(thread.recorder().get(LoadRecorder.WINDOW_INTENDED)).isEqualTo(sent[1]);
    return sent;
  }

  @Test
  void ofAWindowsMessagesEachProducerSendsItsShareAndNoneAfterIt() {
    assertThat(countSent(3, 2, 0)).containsExactly(100, 5);
    assertThat(countSent(7)).containsExactly(100, 7);
    assertThat(countSent(Long.MAX_VALUE)).containsExactly(100, 401);
  }

  /** However few messages are in flight, and whichever of them gets its outcome first. */
  @Test
  void messagesOfSeveralSizesTakeTurns() {
    int[] sizes = {100, 200, 300, 50, 60, 70, 80};
    Producer.Context mixed =
        new Producer.Context(9, PayloadPool.seeded(1, sizes, 1), live, acks, errors);
    Producer producer = producer(slot -> {}, null, mixed, sizes.length);
    List<Integer> sent = new ArrayList<>();
    Slot first = producer.take();
    for (int i = 0; i < 2 * sizes.length; i++) {
      Slot slot = producer.take();
      slot.fill(slot.ownValue, null, i, 0, 0);
      sent.add(slot.value().length);
      slot.acked(1);
    }
    assertThat(sent.subList(0, 6)).containsExactly(200, 300, 50, 60, 70, 80);
    assertThat(sent.subList(6, 12)).containsExactly(200, 300, 50, 60, 70, 80);
    assertThat(first.ownValue).hasSize(100);
    assertThat(acks.sum(AckRecorder.ACKED_BYTES)).isEqualTo(2 * 760 + 200 + 300);
  }

  @Test
  void bytesOfAWindowAreThoseOfItsMessages() {
    AckRecorder recorder = new AckRecorder();
    Window window = new Window(1, 1_000, 2_000);
    recorder.acked(window, 1_500, 1_500, 5_000, 100);
    recorder.acked(window, 900, 900, 1_100, 10);
    assertThat(recorder.get(AckRecorder.ACKED_BYTES)).isEqualTo(110);
    assertThat(recorder.get(AckRecorder.WINDOW_ACKED_BYTES)).isEqualTo(100);
  }

  @Test
  void theLastOutcomeOfAWindowIsThatOfItsOwnMessages() {
    AckRecorder recorder = new AckRecorder();
    Window window = new Window(1, 1_000, 2_000);
    recorder.acked(window, 1_500, 1_500, 5_000, 100);
    recorder.acked(window, 900, 900, 6_000, 10);
    assertThat(recorder.get(AckRecorder.WINDOW_LAST_NS)).isEqualTo(5_000);
  }

  @Test
  void onlyTheWindowsPartOfABlockingIsTheWindows() {
    LoadRecorder recorder = new LoadRecorder(0);
    Window window = new Window(1, 1_000, 2_000);
    recorder.blocked(window, 500, 1_500);
    recorder.blocked(window, 1_900, 2_500);
    assertThat(recorder.get(LoadRecorder.BLOCKED_NS)).isEqualTo(1_600);
    assertThat(recorder.get(LoadRecorder.WINDOW_BLOCKED_NS)).isEqualTo(600);
  }
}
