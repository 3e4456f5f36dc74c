package io.tidegauge.worker.engine.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.engine.Share;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.figures.WindowedHistogram;
import io.tidegauge.worker.engine.histogram.HistogramEncoder;
import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

/** A topic with one producer on this host and one on a host whose clock is an hour ahead. */
class OtherClocksTest {
  private static final int BYTES = 100;
  private static final long HOUR_NS = 3_600_000_000_000L;
  private static final int HERE = 0;
  private static final int AHEAD = 1;

  private final PayloadPool pool = PayloadPool.seeded(1, BYTES, 1, 1);
  private Window window = new Window(1, 10_000, 20_000);
  private final Subscription subscription = new Subscription("sub-0", 2, false);
  private final ConsumerChecker checker =
      new ConsumerChecker(
          subscription,
          new CheckContext(9, pool, () -> window, new ErrorLog()),
          0,
          2,
          Order.NONE,
          new OtherClocks(new int[] {0, 1}, new long[] {0, HOUR_NS}));

  private void receive(int producer, long sequence, long intendedNs, long receivedNs) {
    byte[] value = pool.newValue(9, producer, 0);
    MessageHeader.writeMessage(value, sequence, intendedNs);
    checker.received(0, 0, value, 0, BYTES, receivedNs);
  }

  private static List<Long> values(List<LatencyHistogram> parts) throws Exception {
    ByteBuffer encoded = ByteBuffer.wrap(new HistogramEncoder().encode(parts));
    List<Long> values = new ArrayList<>();
    Histogram.decodeFromCompressedByteBuffer(encoded, 1)
        .recordedValues()
        .forEach(value -> values.add(value.getValueIteratedTo()));
    return values;
  }

  private List<Long> inWindow(WindowedHistogram histogram) throws Exception {
    List<LatencyHistogram> parts = new ArrayList<>();
    histogram.addInside(window.epoch(), parts);
    return values(parts);
  }

  private List<Long> endToEnd() throws Exception {
    List<LatencyHistogram> parts = new ArrayList<>();
    checker.recorder().addEndToEnd(window.epoch(), parts);
    return values(parts);
  }

  @Test
  void anothersTimesArePutOnThisClockAndCountedApart() throws Exception {
    receive(HERE, 0, 10_000, 10_300);
    receive(AHEAD, 0, HOUR_NS + 10_000, 10_500);
    receive(AHEAD, 1, HOUR_NS + 20_000, 20_001);
    assertThat(subscription.windowReceived(1)).as("the last is behind the window").isEqualTo(2);
    assertThat(endToEnd()).containsExactly(300L, 500L);
    assertThat(checker.recorder().apart()).extracting(ApartRecorder::worker).containsExactly(1);
    assertThat(inWindow(checker.recorder().apart().get(0).after())).containsExactly(500L);
  }

  @Test
  void whatSeemsToComeTooEarlyIsKeptWithItsSign() throws Exception {
    receive(AHEAD, 0, HOUR_NS + 10_000, 9_600);
    ApartRecorder apart = checker.recorder().apart().get(0);
    assertThat(inWindow(apart.after())).isEmpty();
    assertThat(inWindow(apart.before())).containsExactly(400L);
    assertThat(subscription.sum(ReceiveRecorder.NEGATIVE_LATENCY)).isZero();
  }

  @Test
  void aNewWindowBeginsItsOwn() throws Exception {
    receive(AHEAD, 0, HOUR_NS + 10_000, 10_500);
    window = new Window(2, 15_000, Long.MAX_VALUE);
    receive(AHEAD, 1, HOUR_NS + 15_000, 15_700);
    assertThat(inWindow(checker.recorder().apart().get(0).after())).containsExactly(700L);
  }

  @Test
  void eachWorkersClockIsGivenOrNone() {
    assertThat(new Share(0, 2, List.of(0L, HOUR_NS)).workerOf(3)).isEqualTo(1);
    assertThatThrownBy(() -> new Share(0, 2, List.of(0L)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("of 2 workers the clocks of 1");
  }
}
