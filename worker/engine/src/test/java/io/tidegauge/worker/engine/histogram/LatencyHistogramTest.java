package io.tidegauge.worker.engine.histogram;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.SplittableRandom;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class LatencyHistogramTest {
  private static Histogram decode(byte[] bytes) throws Exception {
    return Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(bytes), 1);
  }

  /** Values over all magnitudes, with the edges of buckets. */
  private static long[] values(int seed) {
    SplittableRandom random = new SplittableRandom(seed);
    long[] values = new long[20_000];
    for (int i = 0; i < values.length; i++) {
      long power = 1L << random.nextInt(42);
      values[i] = Math.max(0, power + random.nextLong(power) - random.nextInt(2));
    }
    return values;
  }

  @Test
  void equalsHdrHistogram() throws Exception {
    LatencyHistogram ours = new LatencyHistogram();
    Histogram theirs = new Histogram(1, LatencyHistogram.VALUE_MAX, 3);
    for (long v : values(1)) {
      ours.record(v);
      theirs.recordValue(v);
    }
    assertThat(decode(new HistogramEncoder().encode(List.of(ours)))).isEqualTo(theirs);
  }

  /** Compressing costs the host that is measured, and undoing it whoever adds up those of many. */
  @Test
  void whatIsSentIsNotCompressed() {
    LatencyHistogram ours = new LatencyHistogram();
    ours.record(1_000_000);
    byte[] encoded = new HistogramEncoder().encode(List.of(ours));
    assertThat(new byte[] {encoded[8], encoded[9]}).containsExactly(0x78, 0x01);
  }

  @Test
  void sumsEqualTheSumOfHdrHistograms() throws Exception {
    LatencyHistogram a = new LatencyHistogram();
    LatencyHistogram b = new LatencyHistogram();
    Histogram theirs = new Histogram(1, LatencyHistogram.VALUE_MAX, 3);
    for (long v : values(2)) {
      ((v & 1) == 0 ? a : b).record(v);
      theirs.recordValue(v);
    }
    assertThat(decode(new HistogramEncoder().encode(List.of(a, b)))).isEqualTo(theirs);
  }

  @Test
  void intervalsAddUpToTheWhole() throws Exception {
    LatencyHistogram ours = new LatencyHistogram();
    HistogramEncoder encoder = new HistogramEncoder();
    HistogramEncoder.PastCounts past = new HistogramEncoder.PastCounts();
    Histogram sum = new Histogram(1, LatencyHistogram.VALUE_MAX, 3);
    long[] values = values(3);
    for (int i = 0; i < values.length; i++) {
      ours.record(values[i]);
      if (i % 3_000 == 0 || i == values.length - 1) {
        Histogram interval = decode(encoder.encodeSince(List.of(ours), past));
        sum.add(interval);
      }
    }
    assertThat(sum).isEqualTo(decode(encoder.encode(List.of(ours))));
    assertThat(decode(encoder.encodeSince(List.of(ours), past)).getTotalCount()).isZero();
  }

  @Test
  void valuesOutOfRangeAreCountedAtTheEdge() throws Exception {
    LatencyHistogram ours = new LatencyHistogram();
    ours.record(-5);
    ours.record(Long.MAX_VALUE);
    Histogram h = decode(new HistogramEncoder().encode(List.of(ours)));
    assertThat(h.getTotalCount()).isEqualTo(2);
    assertThat(h.getMinValue()).isZero();
    assertThat(h.getMaxValue()).isGreaterThan(3_600_000_000_000L);
  }
}
