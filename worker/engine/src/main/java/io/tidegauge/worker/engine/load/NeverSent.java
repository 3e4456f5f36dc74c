package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.schedule.RateProfile;
import io.tidegauge.worker.engine.schedule.Schedule;

/**
 * Counts the messages in the window that were due by the stop and were not sent: exactly for evenly
 * spaced ones, whatever their number; drawn one by one for random ones, and if that takes too long
 * the rest as the rate has it.
 */
final class NeverSent {
  /**
   * For all producers of a thread together: well within the time that a stop waits for a thread.
   */
  private static final long DRAW_NS_MAX = 500_000_000;

  private static final int DRAWS_PER_LOOK = 1_024;

  private final RateProfile profile;
  private final Window window;
  private final long endNs;
  private final long giveUpNs;
  private boolean estimated;

  /**
   * @param stopAtNs the last instant at which a message may be due
   */
  NeverSent(RateProfile profile, Window window, long stopAtNs, long nowNs) {
    this.profile = profile;
    this.window = window;
    this.endNs = Math.min(stopAtNs, nowNs) + 1;
    this.giveUpNs = nowNs + DRAW_NS_MAX;
  }

  /** Of one producer, whose next message is the first that was not sent. */
  long count(Schedule schedule) {
    long until = Math.min(endNs, window.untilNs());
    if (until <= window.fromNs()) {
      return 0;
    }
    if (schedule.isEven()) {
      return schedule.countBefore(profile, until) - schedule.countBefore(profile, window.fromNs());
    }
    return draw(schedule, until);
  }

  private long draw(Schedule schedule, long until) {
    long n = 0;
    long ns = schedule.nextNs(profile);
    for (long drawn = 1; ns < until; drawn++) {
      n += window.contains(ns) ? 1 : 0;
      schedule.advance();
      ns = schedule.nextNs(profile);
      if (drawn % DRAWS_PER_LOOK == 0 && System.nanoTime() > giveUpNs) {
        estimated = true;
        long from = Math.max(ns, window.fromNs());
        double units = profile.unitsAt(until) - profile.unitsAt(Math.min(from, until));
        return n + Math.round(units / schedule.producers());
      }
    }
    return n;
  }

  /** Whether some were not drawn. */
  boolean isEstimated() {
    return estimated;
  }
}
