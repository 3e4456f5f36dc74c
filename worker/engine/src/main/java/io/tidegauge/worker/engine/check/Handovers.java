package io.tidegauge.worker.engine.check;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Which threads one consumer's messages were handed over by, and how many by each. Clients differ:
 * one thread may serve many consumers, and one consumer may be called from many threads, one at a
 * time.
 */
public final class Handovers {
  /** One thread's part. */
  public static final class Part {
    private final ReceivingThread thread;
    private volatile long received;

    private Part(ReceivingThread thread) {
      this.thread = thread;
    }

    public ReceivingThread thread() {
      return thread;
    }
  }

  private final ReceivingThreads threads;
  private final List<Part> parts = new CopyOnWriteArrayList<>();

  /** Of the thread that hands over. */
  private Thread last;

  private volatile Part current;
  private volatile long currentFrom;

  Handovers(ReceivingThreads threads) {
    this.threads = threads;
  }

  /** A message is handed over by the calling thread, after so many others. */
  void arrived(long before) {
    if (Thread.currentThread() != last) {
      moveTo(before);
    }
  }

  private void moveTo(long before) {
    last = Thread.currentThread();
    Part left = current;
    if (left != null) {
      left.received = left.received + before - currentFrom;
    }
    ReceivingThread thread = threads.current();
    Part found = null;
    for (Part part : parts) {
      found = part.thread == thread ? part : found;
    }
    if (found == null) {
      found = new Part(thread);
      parts.add(found);
    }
    currentFrom = before;
    current = found;
  }

  /** All threads that ever handed over. */
  public List<Part> parts() {
    return parts;
  }

  /** The thread that handed over last; null if none did. */
  public Part current() {
    return current;
  }

  /**
   * Messages that a thread handed over, of {@code total} in all; a little off while the consumer
   * moves from thread to thread.
   */
  public long received(Part part, long total) {
    long more = part == current ? total - currentFrom : 0;
    return part.received + Math.max(0, more);
  }
}
