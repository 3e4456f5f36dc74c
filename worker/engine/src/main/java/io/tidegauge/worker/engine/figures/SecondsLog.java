package io.tidegauge.worker.engine.figures;

import io.tidegauge.worker.proto.SecondFigures;
import io.tidegauge.worker.proto.SubscriptionSecond;
import java.util.ArrayDeque;

/**
 * The seconds of a trial, from which every observer reads the same figures. Bounded: once they take
 * more than the given memory, the oldest are given up, and who asks for one of those gets the
 * oldest that is kept.
 */
public final class SecondsLog {
  /**
   * Several hours with one subscription; a day if observers keep up, since they only need the
   * newest.
   */
  public static final long BYTES_MAX = 32L << 20;

  private final long bytesMax;
  private final ArrayDeque<SecondFigures> kept = new ArrayDeque<>();
  private long bytes;
  private long count;
  private boolean closed;

  public SecondsLog(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /** Adds the next second. */
  public synchronized void append(SecondFigures second) {
    kept.addLast(second);
    bytes += bytesOf(second);
    count = second.getSecond() + 1;
    while (bytes > bytesMax && kept.size() > 1) {
      bytes -= bytesOf(kept.removeFirst());
    }
    notifyAll();
  }

  /** About how much memory it takes. */
  static long bytesOf(SecondFigures second) {
    long n = 300L + second.getResponse().size() + second.getService().size();
    n += second.getDelay().size();
    for (SubscriptionSecond s : second.getSubscriptionsList()) {
      n += 150L + s.getEndToEnd().size();
    }
    return n;
  }

  /** No second will be added any more. */
  public synchronized void close() {
    closed = true;
    notifyAll();
  }

  /** Seconds so far, those given up included. */
  public synchronized long count() {
    return count;
  }

  public synchronized boolean isClosed() {
    return closed;
  }

  /**
   * The first second kept from {@code wanted} on. Waits for it; null if it did not come in time or
   * never will ({@link #isClosed}).
   */
  public synchronized SecondFigures next(long wanted, long timeoutMs) throws InterruptedException {
    long deadline = System.nanoTime() + timeoutMs * 1_000_000;
    while (count <= wanted && !closed) {
      long leftMs = (deadline - System.nanoTime()) / 1_000_000;
      if (leftMs <= 0) {
        return null;
      }
      wait(leftMs);
    }
    if (count <= wanted) {
      return null;
    }
    long oldest = kept.getFirst().getSecond();
    if (wanted <= oldest) {
      return kept.getFirst();
    }
    int skip = (int) (wanted - oldest);
    for (SecondFigures s : kept) {
      if (skip-- == 0) {
        return s;
      }
    }
    return null;
  }
}
