package io.tidegauge.worker.engine.figures;

/**
 * Base of what one thread records. The thread looks at the trial's window before each message; when
 * a window with another beginning has been set, it starts the window's figures anew. Readers use
 * the window's figures only if the epoch agrees.
 */
public abstract class Recorder {
  private Window window = Window.NONE;
  private volatile int epoch;

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

  /** Whether the figures of the window are those of this epoch. */
  public final boolean hasEpoch(int wanted) {
    return epoch == wanted;
  }
}
