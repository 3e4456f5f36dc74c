package io.tidegauge.worker.engine.load;

import java.util.concurrent.locks.LockSupport;

/**
 * Waits for an instant: parks until shortly before it, then spins. How long before is learnt from
 * how late parking ends, which is about 4 us with sharp timers and 55 us without; it never spins
 * longer than {@link #SPIN_NS_MAX}, so that a slow schedule does not burn a CPU.
 */
final class Waiter {
  private static final long SPIN_NS_MAX = 12_000;
  private static final long SPIN_NS_MIN = 2_000;

  /** So that changes of the rate or a stop are seen even if nobody wakes the thread. */
  private static final long PARK_NS_MAX = 2_000_000;

  private long lateNs = 5_000;

  /**
   * Waits, for at most a little while. Returns the time now, which may still be before the instant.
   */
  long towards(long dueNs, long nowNs) {
    long aheadNs = dueNs - nowNs;
    long spinNs = Math.min(SPIN_NS_MAX, Math.max(SPIN_NS_MIN, lateNs + lateNs / 4));
    if (aheadNs > spinNs) {
      long parkNs = Math.min(PARK_NS_MAX, aheadNs - spinNs);
      LockSupport.parkNanos(parkNs);
      long now = System.nanoTime();
      learn(now - nowNs - parkNs);
      return now;
    }
    long now = nowNs;
    while (now < dueNs) {
      Thread.onSpinWait();
      now = System.nanoTime();
    }
    return now;
  }

  private void learn(long overshootNs) {
    if (overshootNs >= 0) {
      lateNs += (Math.min(overshootNs, 2 * SPIN_NS_MAX) - lateNs) / 16;
    }
  }
}
