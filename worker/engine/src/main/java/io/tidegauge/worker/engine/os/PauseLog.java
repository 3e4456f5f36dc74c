package io.tidegauge.worker.engine.os;

/**
 * The newest stretches of time in which the process as a whole did not run. One thread notes them,
 * any thread asks.
 */
public final class PauseLog {
  private static final int KEPT = 256;

  private final long[] fromNs = new long[KEPT];
  private final long[] untilNs = new long[KEPT];
  private long noted;

  /** A pause has ended. */
  public synchronized void note(long from, long until) {
    int i = (int) (noted % KEPT);
    fromNs[i] = from;
    untilNs[i] = until;
    noted++;
  }

  /** How much of an interval was pause. */
  public synchronized long overlapNs(long from, long until) {
    long n = 0;
    for (int i = 0; i < Math.min(noted, KEPT); i++) {
      n += Math.max(0, Math.min(until, untilNs[i]) - Math.max(from, fromNs[i]));
    }
    return n;
  }
}
