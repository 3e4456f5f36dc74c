package io.tidegauge.worker.engine;

import io.tidegauge.worker.api.Threads;
import io.tidegauge.worker.engine.check.Subscription;
import io.tidegauge.worker.engine.figures.SecondsLog;
import io.tidegauge.worker.engine.load.LoadThreads;
import io.tidegauge.worker.engine.load.Producer;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Writes the log of seconds, reads the process's use at the window's edges, frees the memory of
 * complete sequences.
 */
final class Sampler implements Runnable {
  private static final long SECOND_NS = 1_000_000_000L;
  private static final long TICK_NS = 100_000_000L;

  /** A last second shorter than this means nothing. */
  private static final long LAST_NS_MIN = 1_000_000L;

  private final Producer.Context context;
  private final Clients clients;
  private final Supplier<SecondReader> reading;
  private final LoadThreads threads;
  private final SecondsLog log;
  private final WindowUse use;
  private final Thread thread = Threads.daemon("tg-sampler", this);
  private volatile boolean stopping;

  /**
   * @param reading makes a reader, whose first second begins then
   */
  Sampler(
      Producer.Context context,
      Clients clients,
      Supplier<SecondReader> reading,
      LoadThreads threads,
      SecondsLog log,
      WindowUse use) {
    this.context = context;
    this.clients = clients;
    this.reading = reading;
    this.threads = threads;
    this.log = log;
    this.use = use;
  }

  void start() {
    thread.start();
  }

  /** Writes what is left of the last second and ends. */
  void stop() throws InterruptedException {
    stopping = true;
    LockSupport.unpark(thread);
    thread.join(10_000);
  }

  void wake() {
    LockSupport.unpark(thread);
  }

  @Override
  public void run() {
    try {
      long from = context.live().profile.startNs();
      SecondReader reader = reading.get();
      long second = 0;
      long end = from + SECOND_NS;
      while (!stopping) {
        long now = awaitUntil(end);
        if (now >= end) {
          // Up to the instant of reading, where the next begins: no time is counted twice or not at
          // all. Ends are aimed at whole seconds from the start, so that they don't drift.
          log.append(reader.read(second++, from, now));
          from = now;
          end = nextEndNs(end, now);
          clients.subscriptions().forEach(Subscription::collapse);
        }
      }
      long now = System.nanoTime();
      if (now - from > LAST_NS_MIN) {
        log.append(reader.read(second, from, now));
      }
    } catch (RuntimeException | Error e) {
      context.errors().add("engine", e);
    } finally {
      log.close();
    }
  }

  /** The first whole second from the start that has not passed. */
  static long nextEndNs(long endNs, long nowNs) {
    return endNs + SECOND_NS * (1 + Math.max(0, nowNs - endNs) / SECOND_NS);
  }

  private long awaitUntil(long end) {
    long now = System.nanoTime();
    while (now < end && !stopping) {
      long wake = Math.min(Math.min(end, use.nextEdgeNs()), now + TICK_NS);
      LockSupport.parkNanos(Math.max(1, wake - now));
      now = System.nanoTime();
      use.pass(now);
      threads.tick();
    }
    return now;
  }
}
