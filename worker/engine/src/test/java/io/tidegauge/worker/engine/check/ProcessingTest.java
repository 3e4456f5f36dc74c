package io.tidegauge.worker.engine.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.histogram.HistogramEncoder;
import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
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
    return consumer(new ConsumerWork(List.of(timesNs), false, 0));
  }

  private ConsumerChecker consumer(ConsumerWork work) {
    CheckContext context =
        new CheckContext(TRIAL, pool, () -> window, errors, new ReceivingThreads(), work);
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
      Processing processing = new Processing(new ConsumerWork(timesNs, false, 0), () -> true, seed);
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
  void computingTakesCpuTimeAndIsNotTheClientsOwn() {
    ConsumerChecker consumer = consumer(new ConsumerWork(List.of(50 * MS), true, 0));
    receive(consumer, 0, System.nanoTime());
    ReceivingThread thread = consumer.recorder().handovers().current().thread();
    thread.busyNs(Long.MAX_VALUE);
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long cpuFromNs = threads.getCurrentThreadCpuTime();
    long fromNs = System.nanoTime();
    for (int i = 1; i <= 4; i++) {
      receive(consumer, i, System.nanoTime());
    }
    long cpuNs = threads.getCurrentThreadCpuTime() - cpuFromNs;
    assertThat(cpuNs).isBetween(200 * MS, 220 * MS);
    ReceiveRecorder recorder = consumer.recorder();
    assertThat(recorder.get(ReceiveRecorder.PROCESSING_CPU_NS)).isBetween(250 * MS, 275 * MS);
    assertThat(recorder.get(ReceiveRecorder.PROCESSING_NS))
        .isGreaterThanOrEqualTo(recorder.get(ReceiveRecorder.PROCESSING_CPU_NS) - MS);
    // Of a busy machine it also has waits for a CPU between two messages.
    assertThat(thread.busyNs(Long.MAX_VALUE)).isLessThan((System.nanoTime() - fromNs) / 2);
  }

  @Test
  void waitingTakesNoCpuTime() {
    ConsumerChecker consumer = consumer(5 * MS);
    receive(consumer, 0, System.nanoTime());
    assertThat(consumer.recorder().get(ReceiveRecorder.PROCESSING_CPU_NS)).isZero();
  }

  @Test
  void whatIsKnownOfProcessingBeforeTheThreadsWaitIsCountsForNothing() {
    // The kernel counts a wait for a CPU once it is over.
    long[] busyNs = {0};
    ReceivingThread thread = new ReceivingThread(() -> busyNs[0], () -> {});
    busyNs[0] = 500 * MS;
    thread.addProcessingNs(900 * MS);
    assertThat(thread.busyNs(1_000 * MS)).isZero();
    busyNs[0] = 1_100 * MS;
    assertThat(thread.busyNs(1_000 * MS)).isEqualTo(200 * MS);
  }

  @Test
  void aConsumerTakesNoMoreThanItsRate() {
    ConsumerChecker consumer = consumer(new ConsumerWork(List.of(), false, 500));
    long fromNs = System.nanoTime();
    for (int i = 0; i < 101; i++) {
      receive(consumer, i, System.nanoTime());
    }
    // The first is taken at once, and the last may come a grain early.
    assertThat(System.nanoTime() - fromNs).isGreaterThanOrEqualTo(200 * MS - MS);
    assertThat(consumer.recorder().get(ReceiveRecorder.PROCESSING_NS))
        .isGreaterThanOrEqualTo(100 * MS);
  }

  @Test
  void whatItTookLessThanItsRateIsMadeUpForOnlyOfTheLastTenthOfASecond() throws Exception {
    ConsumerChecker consumer = consumer(new ConsumerWork(List.of(), false, 100));
    receive(consumer, 0, System.nanoTime());
    Thread.sleep(300);
    long fromNs = System.nanoTime();
    // Ten are due by then, and the eleventh now.
    for (int i = 1; i <= 21; i++) {
      receive(consumer, i, System.nanoTime());
    }
    assertThat(System.nanoTime() - fromNs).isGreaterThanOrEqualTo(100 * MS - MS);
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
