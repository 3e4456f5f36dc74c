package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.engine.os.TaskClock;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * What one consumer does with each message before it acknowledges it: it waits, as for a database.
 * How long is drawn from times that were made before the trial. One thread at a time.
 */
final class Processing {
  private static final long LOOK_NS_MAX = 100_000_000;

  private final List<Long> timesNs;
  private final BooleanSupplier ended;
  private long random;
  private Thread thread;

  /**
   * @param timesNs equally likely ones, which all consumers share
   * @param ended whether messages are not processed any more, so that consumers can be closed
   * @param seed of the order in which times are drawn
   */
  Processing(List<Long> timesNs, BooleanSupplier ended, long seed) {
    this.timesNs = timesNs;
    this.ended = ended;
    // Neighbouring seeds must not draw alike, and xorshift never leaves 0.
    this.random = Math.max(1, (seed + 1) * 0x9E3779B97F4A7C15L >>> 1);
  }

  /** Waits for a time that is drawn, from an instant on. Returns when that was over. */
  long process(long fromNs) {
    sharpenTimers();
    long untilNs = fromNs + drawNs();
    long nowNs = fromNs;
    while (nowNs < untilNs && !ended.getAsBoolean()) {
      LockSupport.parkNanos(Math.min(untilNs - nowNs, LOOK_NS_MAX));
      nowNs = System.nanoTime();
    }
    return nowNs;
  }

  /** One of the times. */
  long drawNs() {
    return timesNs.get((int) ((nextRandom() >>> 1) % timesNs.size()));
  }

  /** Threads are the client's, which may call from another one. */
  private void sharpenTimers() {
    if (Thread.currentThread() != thread) {
      thread = Thread.currentThread();
      TaskClock.sharpenTimers();
    }
  }

  /** Marsaglia's xorshift. */
  private long nextRandom() {
    random ^= random << 13;
    random ^= random >>> 7;
    random ^= random << 17;
    return random;
  }
}
