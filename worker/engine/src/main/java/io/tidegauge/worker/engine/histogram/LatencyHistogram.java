package io.tidegauge.worker.engine.histogram;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Counts of nanosecond values in HdrHistogram's bucket layout: 1 ns to 2^42 ns (73 minutes), 3
 * significant digits. One thread records; others may read at any time and see counts that only
 * grow. Memory is taken as it is needed, 1 KiB for each eighth of a power of two that occurs: of
 * thousands of consumers each has a few values only.
 */
public final class LatencyHistogram {
  /** Largest value that is distinguished; greater ones count as this. */
  public static final long VALUE_MAX = (1L << 42) - 1;

  static final int ROW_BITS = 10;
  static final int ROW_CELLS = 1 << ROW_BITS;
  static final int ROWS = 33;

  /** A row is made of blocks, for which memory is taken. */
  private static final int BLOCK_BITS = 7;

  private static final int BLOCK_CELLS = 1 << BLOCK_BITS;
  private static final int BLOCKS_PER_ROW = ROW_CELLS / BLOCK_CELLS;

  /**
   * Cells before and behind a block's own: its first are counted in so often that others would wait
   * for their line.
   */
  private static final int PAD = 16;

  private static final int SUB_BUCKET_MASK = 2 * ROW_CELLS - 1;
  private static final int ZEROS_BASE = 64 - ROW_BITS - 1;
  private static final VarHandle BLOCK = MethodHandles.arrayElementVarHandle(long[][].class);

  private final long[][] blocks = new long[ROWS * BLOCKS_PER_ROW][];

  /** Counts a value; negative ones count as 0. */
  public void record(long valueNs) {
    long v = Math.min(Math.max(valueNs, 0), VALUE_MAX);
    int bucket = ZEROS_BASE - Long.numberOfLeadingZeros(v | SUB_BUCKET_MASK);
    int sub = (int) (v >>> bucket);
    // The lower half of every bucket but the first is empty: it would repeat the bucket below.
    int index = (bucket << ROW_BITS) + sub;
    long[] block = blocks[index >>> BLOCK_BITS];
    if (block == null) {
      block = newBlock(index >>> BLOCK_BITS);
    }
    block[PAD + (index & (BLOCK_CELLS - 1))]++;
  }

  private long[] newBlock(int b) {
    long[] block = new long[PAD + BLOCK_CELLS + PAD];
    BLOCK.setRelease(blocks, b, block);
    return block;
  }

  /** Adds the counts of one row to {@code sums}. Returns false if the row has none. */
  boolean addRowTo(int r, long[] sums) {
    boolean any = false;
    for (int b = 0; b < BLOCKS_PER_ROW; b++) {
      long[] block = (long[]) BLOCK.getAcquire(blocks, r * BLOCKS_PER_ROW + b);
      if (block == null) {
        continue;
      }
      any = true;
      for (int i = 0; i < BLOCK_CELLS; i++) {
        sums[b * BLOCK_CELLS + i] += block[PAD + i];
      }
    }
    return any;
  }

  /** Smallest value that is counted in a cell. */
  static long valueAt(int row, int cell) {
    return row == 0 ? cell : (long) (cell + ROW_CELLS) << (row - 1);
  }
}
