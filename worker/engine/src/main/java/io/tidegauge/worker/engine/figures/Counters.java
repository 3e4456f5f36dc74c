package io.tidegauge.worker.engine.figures;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A block of counters that one thread writes and any thread reads. Padded so that two threads'
 * blocks never share a cache line.
 */
public final class Counters {
  private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(long[].class);
  private static final int PAD = 16;

  private final long[] cells;

  public Counters(int size) {
    cells = new long[PAD + size + PAD];
  }

  public void add(int counter, long n) {
    int i = PAD + counter;
    CELL.setRelease(cells, i, cells[i] + n);
  }

  public void set(int counter, long value) {
    CELL.setRelease(cells, PAD + counter, value);
  }

  public long get(int counter) {
    return (long) CELL.getAcquire(cells, PAD + counter);
  }

  /** The owner's own reading. */
  public long own(int counter) {
    return cells[PAD + counter];
  }
}
