package io.tidegauge.worker.engine.figures;

import java.util.Collection;

/**
 * Base of what one thread records. The thread looks at the trial's window before each message; when
 * a window with another beginning has been set, it starts the window's figures anew. Readers use
 * the window's figures only if the epoch agrees.
 */
public abstract class Recorder {
  private Window window = Window.NONE;
  private volatile int epoch;
  protected volatile Records records = Records.NONE;

  /** By the owner only. */
  @SuppressWarnings("ReferenceEquality") // Cheap, and right: windows are replaced, not changed.
  protected final Window adopt(Window latest) {
    if (latest != window) {
      if (latest.epoch() != epoch) {
        beginWindow(latest);
        epoch = latest.epoch();
      }
      window = latest;
    }
    return latest;
  }

  /** Forget the window's counters and histograms. */
  protected abstract void beginWindow(Window next);

  public abstract long get(int counter);

  /** Of the window's schedule. */
  public final Records records() {
    return records;
  }

  /** Whether the figures of the window are those of this epoch. */
  public final boolean hasEpoch(int wanted) {
    return epoch == wanted;
  }

  /** Sum of a counter over several threads' recorders. */
  public static long sum(Collection<? extends Recorder> all, int counter) {
    return all.stream().mapToLong(r -> r.get(counter)).sum();
  }

  /** Sum of a counter of the window over the recorders that know the window. */
  public static long sum(Collection<? extends Recorder> all, int counter, int epoch) {
    return all.stream().filter(r -> r.hasEpoch(epoch)).mapToLong(r -> r.get(counter)).sum();
  }
}
