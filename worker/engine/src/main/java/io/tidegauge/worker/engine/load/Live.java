package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.schedule.RateProfile;

/**
 * What may change while a trial runs. Written by the controller's calls, read before each message.
 */
public final class Live {
  /** Null until the trial is started. */
  public volatile RateProfile profile;

  public volatile Window window = Window.NONE;

  /** No message is intended after this instant. */
  public volatile long stopAtNs = Long.MAX_VALUE;

  /** Load threads end at once, whatever they owe. */
  public volatile boolean aborted;

  public Window window() {
    return window;
  }
}
