package io.tidegauge.worker.engine.histogram;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Counts of nanosecond values in HdrHistogram's bucket layout: 1 ns to 2^42 ns (73 minutes), 3
 * significant digits. One thread records; others may read at any time and see counts that only
 * grow. Memory is taken as it is needed, 8 KiB for each power of two that occurs.
 */
public final class LatencyHistogram {
  /** Largest value that is distinguished; greater ones count as this. */
  public static final long VALUE_MAX = (1L << 42) - 1;

  static final int ROW_BITS = 10;
  static final int ROW_CELLS = 1 << ROW_BITS;
  static final int ROWS = 33;

  /**
   * Cells before and behind a row's own: its first are counted in so often that others would wait
   * for their line.
   */
  private static final int PAD = 16;

  private static final int SUB_BUCKET_MASK = 2 * ROW_CELLS - 1;
  private static final int ZEROS_BASE = 64 - ROW_BITS - 1;
  private static final VarHandle ROW = MethodHandles.arrayElementVarHandle(long[][].class);

  private final long[][] rows = new long[ROWS][];

  /** Counts a value; negative ones count as 0. */
  public void record(long valueNs) {
    long v = Math.min(Math.max(valueNs, 0), VALUE_MAX);
    int bucket = ZEROS_BASE - Long.numberOfLeadingZeros(v | SUB_BUCKET_MASK);
    int sub = (int) (v >>> bucket);
    // The lower half of every bucket but the first is empty: it would repeat the bucket below.
    int index = (bucket << ROW_BITS) + sub;
    long[] row = rows[index >>> ROW_BITS];
    if (row == null) {
      row = newRow(index >>> ROW_BITS);
    }
    row[PAD + (index & (ROW_CELLS - 1))]++;
  }

  private long[] newRow(int r) {
    long[] row = new long[PAD + ROW_CELLS + PAD];
    ROW.setRelease(rows, r, row);
    return row;
  }

  /** Adds the counts of one row to {@code sums}. Returns false if the row has none. */
  boolean addRowTo(int r, long[] sums) {
    long[] row = (long[]) ROW.getAcquire(rows, r);
    if (row == null) {
      return false;
    }
    for (int i = 0; i < ROW_CELLS; i++) {
      sums[i] += row[PAD + i];
    }
    return true;
  }

  /** Smallest value that is counted in a cell. */
  static long valueAt(int row, int cell) {
    return row == 0 ? cell : (long) (cell + ROW_CELLS) << (row - 1);
  }
}
