package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.engine.os.TaskClock;
import java.util.function.LongSupplier;

/**
 * A thread that hands messages to consumers: how much of each second it ran or waited for a CPU,
 * without what consumers computed on it. Read by one thread.
 */
public final class ReceivingThread {
  private final LongSupplier busyNs;
  private final Runnable close;
  private long pastNs;
  private long owedNs;

  /** Written by the thread itself. */
  private volatile long processingNs;

  private ReceivingThread(TaskClock clock) {
    this(clock::busyNs, clock::close);
  }

  /**
   * @param busyNs time that it ran or waited so far
   */
  ReceivingThread(LongSupplier busyNs, Runnable close) {
    this.busyNs = busyNs;
    this.close = close;
    this.pastNs = busyNs.getAsLong();
  }

  static ReceivingThread ofCurrentThread() {
    return new ReceivingThread(TaskClock.ofCurrentThread());
  }

  /**
   * Time that it ran or waited since the last call, at most {@code lengthNs}. The kernel counts a
   * wait once it is over: what is more than fits into this second belonged to those before, and is
   * counted with the next, so that none is lost.
   */
  public long busyNs(long lengthNs) {
    // A wait that is not over yet is known of processing, and not yet of the thread.
    long now = busyNs.getAsLong() - processingNs;
    owedNs += Math.max(0, now - pastNs);
    pastNs = Math.max(pastNs, now);
    long counted = Math.min(owedNs, lengthNs);
    owedNs -= counted;
    return counted;
  }

  /** For so long it did for a message what the trial asks for. Called by the thread itself. */
  @SuppressWarnings("NonAtomicOperationOnVolatileField")
  void addProcessingNs(long ns) {
    processingNs = processingNs + ns;
  }

  void close() {
    close.run();
  }
}
