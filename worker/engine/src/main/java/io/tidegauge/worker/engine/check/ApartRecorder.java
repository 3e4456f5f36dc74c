package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.figures.WindowedHistogram;

/**
 * End to end of what one consumer received from one worker on another host. How far its clock is
 * ahead is an estimate: messages may seem to be received before they were intended.
 */
public final class ApartRecorder {
  private final int worker;
  private final WindowedHistogram after = new WindowedHistogram();
  private final WindowedHistogram before = new WindowedHistogram();

  ApartRecorder(int worker, Window window) {
    this.worker = worker;
    begin(window);
  }

  void begin(Window window) {
    after.begin(window.epoch());
    before.begin(window.epoch());
  }

  void record(boolean measured, long latencyNs) {
    if (latencyNs >= 0) {
      after.record(measured, latencyNs);
    } else {
      before.record(measured, -latencyNs);
    }
  }

  /** The worker whose messages they are. */
  public int worker() {
    return worker;
  }

  /** From the intended time on. */
  public WindowedHistogram after() {
    return after;
  }

  /** By how much before it. */
  public WindowedHistogram before() {
    return before;
  }
}
