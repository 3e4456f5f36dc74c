package io.tidegauge.worker.engine.load;

/**
 * Separates a producer's own lag from back-pressure of the system.
 *
 * <p>The debt of a message is the time by which it is sent late. The excused part of the debt grows
 * by the time that the system blocked the producer, and is never more than the debt, so it is gone
 * once the producer has caught up. The rest of the debt is the generator's own lag: a stalled
 * system makes debt and excuse grow alike, a generator that is too slow or gets no CPU makes debt
 * without excuse.
 */
public final class OwnLag {
  private long excusedNs;

  /**
   * The part of a message's debt that the system does not explain. Call it for each message, in
   * order.
   */
  public long of(long debtNs) {
    if (excusedNs > debtNs) {
      excusedNs = Math.max(0, debtNs);
    }
    return debtNs - excusedNs;
  }

  /** The system blocked the producer for this long. */
  public void blockedBySystem(long ns) {
    excusedNs += Math.max(0, ns);
  }

  /** The producer had to wait for its next message to be due: it owes nothing. */
  public void caughtUp() {
    excusedNs = 0;
  }

  /**
   * What part of a blocked time is the system's doing, given what the generator itself was kept
   * from.
   */
  public static long excusable(long blockedNs, long cpuWaitNs, long gcPauseNs) {
    return Math.max(0, blockedNs - Math.max(0, cpuWaitNs) - Math.max(0, gcPauseNs));
  }
}
