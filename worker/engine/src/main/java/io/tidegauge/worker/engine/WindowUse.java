package io.tidegauge.worker.engine;

import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.os.ProcessUse;
import java.util.function.LongSupplier;

/**
 * What the process used between the edges of the measured window, read when the clock passes them.
 */
final class WindowUse {
  /** Readings at one instant. */
  record Reading(long cpuNs, long gcPauseNs, long cpuWaitNs) {
    Reading minus(Reading past) {
      return new Reading(
          cpuNs - past.cpuNs, gcPauseNs - past.gcPauseNs, cpuWaitNs - past.cpuWaitNs);
    }
  }

  private static final Reading ZERO = new Reading(0, 0, 0);

  private final LongSupplier cpuWait;
  private Window window = Window.NONE;
  private Reading atFrom;
  private Reading atUntil;

  WindowUse(LongSupplier cpuWait) {
    this.cpuWait = cpuWait;
  }

  /** The window was set or its end was moved. */
  synchronized void set(Window next, long nowNs) {
    if (next.epoch() != window.epoch()) {
      atFrom = null;
      atUntil = null;
    } else if (next.untilNs() > nowNs) {
      atUntil = null;
    }
    window = next;
    pass(nowNs);
  }

  /** The next edge still to come; {@link Long#MAX_VALUE} if none. */
  synchronized long nextEdgeNs() {
    if (!window.isSet()) {
      return Long.MAX_VALUE;
    }
    if (atFrom == null) {
      return window.fromNs();
    }
    return atUntil == null ? window.untilNs() : Long.MAX_VALUE;
  }

  /** Takes the readings of the edges that have been passed. */
  synchronized void pass(long nowNs) {
    if (!window.isSet()) {
      return;
    }
    if (atFrom == null && nowNs >= window.fromNs()) {
      atFrom = read();
    }
    if (atUntil == null && nowNs >= window.untilNs()) {
      atUntil = read();
    }
  }

  /** What was used inside the window so far. */
  synchronized Reading used() {
    if (atFrom == null) {
      return ZERO;
    }
    return (atUntil == null ? read() : atUntil).minus(atFrom);
  }

  private Reading read() {
    return new Reading(ProcessUse.cpuNs(), ProcessUse.gcPauseNs(), cpuWait.getAsLong());
  }
}
