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

  /** How often the load thread had waited when the system last blocked the producer. */
  private long excusedAtWait;

  /**
   * The part of a message's debt that the system does not explain. Call it for each message, in
   * order.
   *
   * @param waits how often the load thread has had time to wait so far, since all that it owed was
   *     sent
   */
  public long of(long debtNs, long waits) {
    forgetBefore(waits);
    if (excusedNs > debtNs) {
      excusedNs = Math.max(0, debtNs);
    }
    return debtNs - excusedNs;
  }

  /**
   * The system blocked the producer for this long.
   *
   * @param waits as in {@link #of}
   */
  public void blockedBySystem(long ns, long waits) {
    forgetBefore(waits);
    excusedNs += Math.max(0, ns);
  }

  /** A producer whose thread had to wait for the next message to be due owes nothing. */
  private void forgetBefore(long waits) {
    if (waits != excusedAtWait) {
      excusedAtWait = waits;
      excusedNs = 0;
    }
  }

  /**
   * What part of a blocked time is the system's doing, given what the generator itself was kept
   * from.
   */
  public static long excusable(long blockedNs, long cpuWaitNs, long gcPauseNs) {
    return Math.max(0, blockedNs - Math.max(0, cpuWaitNs) - Math.max(0, gcPauseNs));
  }
}
