package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.engine.os.ShortSleep;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits for instants: sleeps until shortly before and spins the rest. A sleep ends late, and what
 * the kernel does meanwhile costs about as much CPU as it is late; how late is learnt. Spinning
 * costs what it takes, so only a share of the time may be spun away: the more of it is saved, the
 * earlier a sleep ends, and the rather a short gap is spun through instead of slept through.
 *
 * <p>Sleeps begin no more often than one in {@link #restNs}. At high rates what became due
 * meanwhile is then sent together, some microseconds late; nothing is ever sent early.
 */
final class Waiter {
  /** The time, and ways to let it pass. */
  interface Clock {
    long nanoTime();

    /** Sleeps; may end early if somebody wakes the thread, who may be late by a short sleep. */
    void park(long ns);

    void spin();
  }

  /**
   * Changes of the rate and a stop wake the thread; this is for what nobody has thought of. Of many
   * threads with little to do each, looks in between would cost more than all that they send.
   */
  static final long PARK_NS_MAX = 50_000_000;

  /** Spinning is saved up for over so much time. */
  static final long SAVING_NS = 20_000_000;

  /** Half of it is the median delay of a high rate, which is to stay below 10 us. */
  static final long REST_NS_MIN = 16_000;

  /** Where timers are late because they are not sharp, sleeping costs less than it is late. */
  static final long REST_NS_MAX = 40_000;

  /** Sleeps take at most the inverse of this of the time, as far as {@link #REST_NS_MAX} allows. */
  private static final double REST_PER_LATE = 2.5;

  /** Later than this is no timer but a machine that had no time for the thread. */
  private static final long LATE_NS_MAX = 100_000;

  /** The time of this machine, for one thread. */
  private static final class SystemClock implements Clock {
    private final ShortSleep shortSleep = new ShortSleep();

    @Override
    public long nanoTime() {
      return System.nanoTime();
    }

    @Override
    public void park(long ns) {
      if (!shortSleep.sleep(ns)) {
        LockSupport.parkNanos(ns);
      }
    }

    @Override
    public void spin() {
      Thread.onSpinWait();
    }
  }

  private final Clock clock;
  private final double share;
  private double savedNs;
  private long earnedAtNs;
  private long wokenNs;

  /** Median and ninth decile of how late sleeps end. */
  private long lateNs = 4_000;

  private long lateNsP90 = 8_000;

  /**
   * @param spinShareMax of a CPU, 0 to 1
   */
  Waiter(double spinShareMax) {
    this(spinShareMax, new SystemClock());
  }

  Waiter(double spinShareMax, Clock clock) {
    this.share = spinShareMax;
    this.clock = clock;
    this.earnedAtNs = clock.nanoTime();
    this.wokenNs = earnedAtNs - REST_NS_MAX;
    this.savedNs = share * SAVING_NS;
  }

  /**
   * Waits, for at most a little while. Returns the time now, which may still be before the instant.
   */
  long towards(long dueNs, long nowNs) {
    long aheadNs = dueNs - nowNs;
    if (aheadNs <= 0) {
      return nowNs;
    }
    double plenty = earn(nowNs);
    if (aheadNs <= plenty * (lateNsP90 + restNs()) && aheadNs <= savedNs) {
      savedNs -= aheadNs;
      return spin(dueNs);
    }
    long wakeNs = Math.max(dueNs, wokenNs + restNs()) - (long) (plenty * lateNsP90);
    return sleep(Math.max(1, Math.min(PARK_NS_MAX, wakeNs - nowNs)), nowNs);
  }

  /**
   * Sleeps until an instant, for at most a little while: what becomes due until then is sent
   * together. A sleep is cut short by as much as sleeps usually end late, and where that was too
   * much the rest is spun. Returns the time now.
   */
  long gatherUntil(long ns, long nowNs) {
    long earlyNs = (long) (earn(nowNs) * lateNs);
    long now = sleep(Math.max(1, Math.min(PARK_NS_MAX, ns - earlyNs - nowNs)), nowNs);
    long aheadNs = ns - now;
    if (aheadNs <= 0 || aheadNs > earlyNs) {
      return now;
    }
    savedNs -= aheadNs;
    return spin(ns);
  }

  /** Least time from the end of one sleep to the end of the next. */
  long restNs() {
    return Math.max(REST_NS_MIN, Math.min(REST_NS_MAX, (long) (REST_PER_LATE * lateNs)));
  }

  /** Saves what may be spun away. Returns how much that is of the most that is saved, 0 to 1. */
  private double earn(long nowNs) {
    double most = share * SAVING_NS;
    savedNs = Math.min(most, savedNs + share * (nowNs - earnedAtNs));
    earnedAtNs = nowNs;
    return most > 0 ? savedNs / most : 0;
  }

  private long spin(long dueNs) {
    long now;
    do {
      clock.spin();
      now = clock.nanoTime();
    } while (now < dueNs);
    return now;
  }

  private long sleep(long parkNs, long nowNs) {
    clock.park(parkNs);
    wokenNs = clock.nanoTime();
    learn(wokenNs - nowNs - parkNs);
    return wokenNs;
  }

  private void learn(long overshootNs) {
    if (overshootNs < 0) {
      return; // Somebody woke the thread.
    }
    long step = Math.max(20, lateNs / 64);
    lateNs = bounded(lateNs + (overshootNs > lateNs ? step : -step));
    long rare = Math.max(10, lateNsP90 / 256);
    lateNsP90 = bounded(lateNsP90 + (overshootNs > lateNsP90 ? 9 * rare : -rare));
  }

  private static long bounded(long ns) {
    return Math.max(500, Math.min(LATE_NS_MAX, ns));
  }
}
