package io.tidegauge.worker.engine.histogram;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collection;
import java.util.zip.Deflater;
import org.HdrHistogram.Histogram;

/**
 * Sums histograms and writes them in HdrHistogram's V2 compressed encoding, in which they are left
 * uncompressed: whoever keeps them may do that, off the measured path, and whoever adds up those of
 * many need not undo it. Not for several threads at once.
 */
public final class HistogramEncoder {
  private final Histogram histogram = new Histogram(1, LatencyHistogram.VALUE_MAX, 3);
  private final ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
  private final long[] sums = new long[LatencyHistogram.ROW_CELLS];

  /** The sum of the given histograms, encoded. */
  public byte[] encode(Collection<LatencyHistogram> sources) {
    histogram.reset();
    for (int r = 0; r < LatencyHistogram.ROWS; r++) {
      if (sumRow(sources, r)) {
        for (int i = 0; i < sums.length; i++) {
          add(r, i, sums[i]);
        }
      }
    }
    return encoded();
  }

  /**
   * What was added to the given histograms since the last call with the same {@code past}, encoded.
   */
  public byte[] encodeSince(Collection<LatencyHistogram> sources, PastCounts past) {
    histogram.reset();
    for (int r = 0; r < LatencyHistogram.ROWS; r++) {
      if (sumRow(sources, r)) {
        long[] before = past.row(r);
        for (int i = 0; i < sums.length; i++) {
          add(r, i, sums[i] - before[i]);
          before[i] = sums[i];
        }
      }
    }
    return encoded();
  }

  private boolean sumRow(Collection<LatencyHistogram> sources, int r) {
    Arrays.fill(sums, 0);
    boolean any = false;
    for (LatencyHistogram source : sources) {
      any |= source.addRowTo(r, sums);
    }
    return any;
  }

  private void add(int row, int cell, long count) {
    if (count > 0) {
      histogram.recordValueWithCount(LatencyHistogram.valueAt(row, cell), count);
    }
  }

  private byte[] encoded() {
    buffer.clear();
    int length = histogram.encodeIntoCompressedByteBuffer(buffer, Deflater.NO_COMPRESSION);
    byte[] bytes = new byte[length];
    System.arraycopy(buffer.array(), 0, bytes, 0, length);
    return bytes;
  }

  /** Counts as they were at the last call of {@link #encodeSince}. */
  public static final class PastCounts {
    private final long[][] rows = new long[LatencyHistogram.ROWS][];

    private long[] row(int r) {
      if (rows[r] == null) {
        rows[r] = new long[LatencyHistogram.ROW_CELLS];
      }
      return rows[r];
    }
  }
}
