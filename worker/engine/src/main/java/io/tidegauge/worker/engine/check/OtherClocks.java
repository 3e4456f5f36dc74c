package io.tidegauge.worker.engine.check;

/**
 * Whose messages, of one topic, carry times of another clock than this worker's, and how these are
 * put on this one's.
 */
public final class OtherClocks {
  /** All are on one clock. */
  public static final OtherClocks NONE = new OtherClocks(new int[0], new long[0]);

  private final int[] workers;
  private final long[] aheadNs;

  /**
   * @param workers of each producer of the topic, which has it
   * @param aheadNs by how much that one's clock is ahead of this worker's, 0 if it is the same
   */
  public OtherClocks(int[] workers, long[] aheadNs) {
    this.workers = workers;
    this.aheadNs = aheadNs;
  }

  /** By how much the clock of a producer's host is ahead of this one's; 0 if it is the same. */
  long aheadNs(int producer) {
    return aheadNs.length == 0 ? 0 : aheadNs[producer];
  }

  /** The worker that has a producer. */
  int worker(int producer) {
    return workers[producer];
  }
}
