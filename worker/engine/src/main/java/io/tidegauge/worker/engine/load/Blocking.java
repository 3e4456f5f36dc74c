package io.tidegauge.worker.engine.load;

/**
 * A stretch of time in which a producer had no free message, and what its threads were kept from
 * meanwhile.
 */
final class Blocking {
  private static final long SHORT_NS = 500_000;

  private long sinceNs;
  private boolean active;
  private boolean looked;
  private long loadCpuWaitNs;
  private long ackCpuWaitNs;
  private long gcPauseNs;

  boolean isActive() {
    return active;
  }

  void begin(long nowNs) {
    active = true;
    looked = false;
    sinceNs = nowNs;
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
    active = false;
    long blockedNs = nowNs - sinceNs;
    if (!looked) {
      return blockedNs;
    }
    long cpuWait = Math.max(loadCpuWait - loadCpuWaitNs, ackCpuWait - ackCpuWaitNs);
    return OwnLag.excusable(blockedNs, cpuWait, gcPause - gcPauseNs);
  }
}
