package io.tidegauge.worker.api;

import java.util.concurrent.ThreadFactory;

/** Threads that do not keep the process from ending. */
public final class Threads {
  private Threads() {}

  /** A thread that is yet to be started. */
  public static Thread daemon(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }

  /** A thread that has been started. */
  public static Thread start(String name, Runnable work) {
    Thread thread = daemon(name, work);
    thread.start();
    return thread;
  }

  /** For an executor whose threads have that name. */
  public static ThreadFactory named(String name) {
    return work -> daemon(name, work);
  }

  /** Waits for a thread's end, or until the caller is interrupted, and remains so. */
  public static void awaitEnd(Thread thread, long msMax) {
    try {
      thread.join(msMax);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
