package io.tidegauge.worker.engine.os;

import io.tidegauge.worker.api.Threads;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread that only sleeps, to notice when the process as a whole stands still: stopped by a
 * signal, its virtual machine not scheduled, paused by the JVM. Waking late without having waited
 * for a CPU (which the kernel accounts for each thread) means just that. Of each pause up to {@link
 * #PERIOD_NS} goes unseen.
 */
public final class Heartbeat implements Runnable {
  static final long PERIOD_NS = 5_000_000;

  /** Less than this is how timers are. */
  private static final long LATE_NS_MIN = 1_000_000;

  private static final long TURN_NS = 50_000;
  private static final int TURNS = 10;

  private final PauseLog log = new PauseLog();
  private final Thread thread = Threads.daemon("tg-heartbeat", this);
  private volatile long wakeNs = Long.MAX_VALUE;
  private volatile boolean stopping;

  public void start() {
    thread.start();
  }

  public void stop() {
    stopping = true;
    LockSupport.unpark(thread);
  }

  @Override
  public void run() {
    TaskClock clock = TaskClock.ofCurrentThread();
    long cpuWait = clock.cpuWaitNs();
    while (!stopping) {
      long wake = System.nanoTime() + PERIOD_NS;
      wakeNs = wake;
      LockSupport.parkNanos(PERIOD_NS);
      long now = System.nanoTime();
      long waited = clock.cpuWaitNs();
      if (now - (waited - cpuWait) - wake > LATE_NS_MIN) {
        log.note(wake, now - (waited - cpuWait));
      }
      cpuWait = waited;
    }
    wakeNs = Long.MAX_VALUE;
    clock.close();
  }

  /**
   * How much of an interval up to now the process did not run. After a pause the caller may be the
   * first to run, so it gives the heartbeat up to half a millisecond to say what it knows; if that
   * has not woken by then, all its lateness counts. Not for every message.
   */
  public long pausedNs(long fromNs, long untilNs) {
    for (int i = 0; i < TURNS && isLate(); i++) {
      LockSupport.parkNanos(TURN_NS);
    }
    long now = System.nanoTime();
    long wake = wakeNs;
    long unfinished = isLate() ? Math.max(0, Math.min(untilNs, now) - Math.max(fromNs, wake)) : 0;
    return log.overlapNs(fromNs, untilNs) + unfinished;
  }

  private boolean isLate() {
    long wake = wakeNs;
    return wake != Long.MAX_VALUE && System.nanoTime() - wake > LATE_NS_MIN;
  }
}
