package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.engine.os.TaskClock;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * What one consumer does with each message before it acknowledges it: it waits until its own rate
 * allows it the message, and then waits, as for a database, or computes. How long is drawn from
 * times that were made before the trial. One thread at a time.
 */
final class Processing {
  private static final long LOOK_NS_MAX = 100_000_000;

  /** What a consumer may have taken less than its rate, and make up for. */
  private static final long CATCH_UP_NS_MAX = 100_000_000;

  /** Turns that come sooner are not waited for: at high rates messages are taken some at a time. */
  private static final long GRAIN_NS = 200_000;

  /** Of computing, between two looks at the clock: about 2 us. */
  private static final int ROUNDS = 1_000;

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final ConsumerWork work;
  private final BooleanSupplier ended;
  private final long intervalNs;
  private long random;
  private long computed = 1;
  private Thread thread;

  /** When the next message may be taken. */
  private long turnNs;

  private boolean hadTurn;
  private long cpuNs;

  /**
   * @param ended whether messages are not processed any more, so that consumers can be closed
   * @param seed of the order in which times are drawn
   */
  Processing(ConsumerWork work, BooleanSupplier ended, long seed) {
    this.work = work;
    this.ended = ended;
    this.intervalNs =
        work.msgsPerSMax() == 0 ? 0 : Math.max(1, Math.round(1e9 / work.msgsPerSMax()));
    // Neighbouring seeds must not draw alike, and xorshift never leaves 0.
    this.random = Math.max(1, (seed + 1) * 0x9E3779B97F4A7C15L >>> 1);
  }

  /**
   * Processes a message from an instant on. Returns when that was over.
   *
   * @param receiving the calling thread, whose time on a CPU is the message's and not the client's
   */
  long process(long fromNs, ReceivingThread receiving) {
    sharpenTimers();
    cpuNs = 0;
    long beganNs = intervalNs == 0 ? fromNs : awaitTurn(fromNs);
    if (work.timesNs().isEmpty()) {
      return beganNs;
    }
    return work.onCpu() ? compute(drawNs(), receiving) : waitUntil(beganNs, beganNs + drawNs());
  }

  /** CPU time that the last message took. */
  long cpuNs() {
    return cpuNs;
  }

  /** One of the times. */
  long drawNs() {
    random = next(random);
    return work.timesNs().get((int) ((random >>> 1) % work.timesNs().size()));
  }

  private long awaitTurn(long nowNs) {
    long longAgoNs = nowNs - CATCH_UP_NS_MAX;
    if (!hadTurn || turnNs - longAgoNs < 0) {
      turnNs = hadTurn ? longAgoNs : nowNs;
      hadTurn = true;
    }
    long dueNs = turnNs;
    turnNs += intervalNs;
    return dueNs - nowNs < GRAIN_NS ? nowNs : waitUntil(nowNs, dueNs);
  }

  private long waitUntil(long fromNs, long untilNs) {
    long nowNs = fromNs;
    while (nowNs < untilNs && !ended.getAsBoolean()) {
      LockSupport.parkNanos(Math.min(untilNs - nowNs, LOOK_NS_MAX));
      nowNs = System.nanoTime();
    }
    return nowNs;
  }

  /** Until the calling thread has had so much CPU time. Without a free CPU that takes longer. */
  private long compute(long forNs, ReceivingThread receiving) {
    long cpuFromNs = THREADS.getCurrentThreadCpuTime();
    long nowNs = System.nanoTime();
    while (cpuNs < forNs && !ended.getAsBoolean()) {
      for (int i = 0; i < ROUNDS; i++) {
        computed = next(computed);
      }
      long lookedNs = System.nanoTime();
      receiving.addProcessingNs(lookedNs - nowNs);
      nowNs = lookedNs;
      cpuNs = THREADS.getCurrentThreadCpuTime() - cpuFromNs;
    }
    return nowNs;
  }

  /** Threads are the client's, which may call from another one. */
  private void sharpenTimers() {
    if (Thread.currentThread() != thread) {
      thread = Thread.currentThread();
      TaskClock.sharpenTimers();
    }
  }

  /** Marsaglia's xorshift. */
  private static long next(long random) {
    long next = random;
    next ^= next << 13;
    next ^= next >>> 7;
    return next ^ (next << 17);
  }
}
