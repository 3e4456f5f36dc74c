package io.tidegauge.worker.engine.load;

/**
 * What one thread had been kept from, at instants a little apart, so that a stretch of time can be
 * judged from before its beginning. One thread notes, another asks; {@link #before} is not for
 * every message.
 */
final class Accounts {
  private static final int KEPT = 128;

  /** Readings at one instant. */
  record Reading(long atNs, long cpuWaitNs, long gcPauseNs) {}

  private static final Reading NONE = new Reading(Long.MIN_VALUE, 0, 0);

  private final Reading[] kept = new Reading[KEPT];
  private int noted;

  synchronized void note(long atNs, long cpuWaitNs, long gcPauseNs) {
    kept[noted++ % KEPT] = new Reading(atNs, cpuWaitNs, gcPauseNs);
  }

  /** The newest reading taken before an instant; else the oldest there is. */
  synchronized Reading before(long ns) {
    Reading oldest = NONE;
    for (int back = 1; back <= Math.min(noted, KEPT); back++) {
      oldest = kept[(noted - back) % KEPT];
      if (oldest.atNs() <= ns) {
        return oldest;
      }
    }
    return oldest;
  }
}
