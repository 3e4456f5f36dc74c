package io.tidegauge.worker.engine.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.histogram.HistogramEncoder;
import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

/** Consumers that do something with each message. */
class ProcessingTest {
  private static final long MS = 1_000_000;
  private static final long TRIAL = 9;

  private final PayloadPool pool = PayloadPool.seeded(1, 100, 1, 1);
  private final long beganNs = System.nanoTime();
  private final Window window = new Window(1, beganNs, Long.MAX_VALUE);
  private final ErrorLog errors = new ErrorLog();
  private final Subscription subscription = new Subscription("sub-0", 1, false);

  private ConsumerChecker consumer(Long... timesNs) {
    CheckContext context =
        new CheckContext(
            TRIAL, pool, () -> window, errors, new ReceivingThreads(), List.of(timesNs));
    return new ConsumerChecker(subscription, context, 0, 1, Order.NONE);
  }

  private void receive(ConsumerChecker consumer, long sequence, long receivedNs) {
    byte[] value = pool.newValue(TRIAL, 0, 0);
    MessageHeader.writeMessage(value, sequence, beganNs);
    consumer.received(0, 0, value, 0, value.length, receivedNs);
  }

  private static Histogram sumOf(BiConsumer<Integer, List<LatencyHistogram>> adding)
      throws Exception {
    List<LatencyHistogram> parts = new ArrayList<>();
    adding.accept(1, parts);
    ByteBuffer encoded = ByteBuffer.wrap(new HistogramEncoder().encode(parts));
    return Histogram.decodeFromCompressedByteBuffer(encoded, 1);
  }

  @Test
  void aMessageIsProcessedBeforeTheNextIsTakenAndItsTimesAreSplit() throws Exception {
    ConsumerChecker consumer = consumer(5 * MS);
    long receivedNs = System.nanoTime();
    for (int i = 0; i < 4; i++) {
      receive(consumer, i, receivedNs);
    }
    long tookNs = System.nanoTime() - receivedNs;
    ReceiveRecorder recorder = consumer.recorder();
    assertThat(tookNs).isGreaterThanOrEqualTo(20 * MS);
    assertThat(recorder.get(ReceiveRecorder.PROCESSING_NS)).isBetween(20 * MS, tookNs);
    // All four were handed over together: the last waited for the three before it.
    Histogram inConsumer = sumOf(recorder::addInConsumer);
    assertThat(inConsumer.getTotalCount()).isEqualTo(4);
    assertThat(inConsumer.getMinValue()).isGreaterThanOrEqualTo(5 * MS);
    assertThat(inConsumer.getMaxValue()).isGreaterThanOrEqualTo(20 * MS);
    assertThat(sumOf(recorder::addProcessed).getMaxValue())
        .isGreaterThanOrEqualTo(inConsumer.getMaxValue());
  }

  @Test
  void allTimesAreDrawnAlikeAndDifferentlyByEachConsumer() {
    List<Long> timesNs = List.of(1L, 2L, 3L, 4L);
    Map<Long, Integer> counts = new HashMap<>();
    List<List<Long>> orders = new ArrayList<>();
    for (int seed = 0; seed < 3; seed++) {
      Processing processing = new Processing(timesNs, () -> true, seed);
      List<Long> order = new ArrayList<>();
      for (int i = 0; i < 4_000; i++) {
        order.add(processing.drawNs());
      }
      order.forEach(ns -> counts.merge(ns, 1, Integer::sum));
      orders.add(order);
    }
    assertThat(counts.keySet()).containsExactlyInAnyOrder(1L, 2L, 3L, 4L);
    // 3,000 of each are expected; five standard deviations are 237.
    assertThat(counts.values()).allSatisfy(n -> assertThat(n).isBetween(2_763, 3_237));
    assertThat(orders).doesNotHaveDuplicates();
  }

  @Test
  void onceTheyAreToBeClosedNobodyWaitsAnyMore() throws Exception {
    ConsumerChecker consumer = consumer(60_000 * MS);
    subscription.endProcessing();
    receive(consumer, 0, System.nanoTime());
    assertThat(sumOf(consumer.recorder()::addInConsumer).getMaxValue()).isLessThan(30_000 * MS);
    assertThat(errors.all()).isEmpty();
  }

  @Test
  void withoutProcessingNothingIsRecorded() {
    ConsumerChecker consumer = consumer();
    receive(consumer, 0, System.nanoTime());
    List<LatencyHistogram> parts = new ArrayList<>();
    consumer.recorder().addInConsumer(1, parts);
    consumer.recorder().addProcessed(1, parts);
    assertThat(parts).isEmpty();
    assertThat(consumer.recorder().get(ReceiveRecorder.PROCESSING_NS)).isZero();
  }
}
