package io.tidegauge.worker.engine.load;

/**
 * A stretch of time in which a producer had no free message, and what its threads were kept from
 * meanwhile.
 */
final class Blocking {
  private static final long SHORT_NS = 500_000;

  /** The load thread comes by at least this often unless it is kept from it. */
  private static final long COMES_BY_NS = 1_500_000;

  private long parkNs = LoadThread.SLOT_PARK_NS;
  private long sinceNs;
  private long seenNs;
  private long keptNs;
  private boolean active;
  private boolean looked;
  private long loadCpuWaitNs;
  private long ackCpuWaitNs;
  private long gcPauseNs;

  /** For so long at most the load thread sleeps in between. */
  void sleepsFor(long ns) {
    parkNs = ns;
  }

  boolean isActive() {
    return active;
  }

  void begin(long nowNs) {
    active = true;
    looked = false;
    sinceNs = nowNs;
    seenNs = nowNs;
    keptNs = 0;
  }

  /**
   * The load thread looks whether it is over. It sleeps in between for a bounded time, mostly a
   * fraction of a millisecond, so a longer gap is time in which it did not run: no CPU, or the
   * whole process stopped.
   */
  void seen(long nowNs) {
    long gapNs = nowNs - seenNs;
    if (gapNs > COMES_BY_NS - LoadThread.SLOT_PARK_NS + parkNs) {
      keptNs += gapNs - parkNs;
    }
    seenNs = nowNs;
  }

  /** For so long the load thread was busy with a system that held up another producer. */
  void skip(long ns) {
    seenNs += ns;
  }

  long sinceNs() {
    return sinceNs;
  }

  /** Whether it has lasted long enough to look at the threads' accounts, which is not free. */
  boolean wantsLook(long nowNs) {
    return active && !looked && nowNs - sinceNs > SHORT_NS;
  }

  void look(long loadCpuWait, long ackCpuWait, long gcPause) {
    looked = true;
    loadCpuWaitNs = loadCpuWait;
    ackCpuWaitNs = ackCpuWait;
    gcPauseNs = gcPause;
  }

  boolean hasLooked() {
    return looked;
  }

  /**
   * Ends it. Returns the part that is the system's doing. The accounts matter only if it was looked
   * at.
   */
  long end(long nowNs, long loadCpuWait, long ackCpuWait, long gcPause) {
    seen(nowNs);
    active = false;
    long blockedNs = nowNs - sinceNs;
    long excusedNs = OwnLag.excusable(blockedNs, keptNs, 0);
    if (!looked) {
      return excusedNs;
    }
    long cpuWait = Math.max(loadCpuWait - loadCpuWaitNs, ackCpuWait - ackCpuWaitNs);
    // The gaps contain the same waits and pauses again: what says more counts.
    return Math.min(excusedNs, OwnLag.excusable(blockedNs, cpuWait, gcPause - gcPauseNs));
  }
}
