package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.Threads;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongUnaryOperator;
import org.jctools.queues.SpscArrayQueue;

/** Sends later, in order, on a thread of its own that stands for the system. */
final class DelayedProducer implements MessageProducer, Runnable {
  private static final long PARK_NS_MAX = 1_000_000;
  private static final long SPIN_NS = 6_000;

  private final MessageProducer next;
  private final LongUnaryOperator dueAt;
  private final SpscArrayQueue<InFlight> waiting;
  private final Thread thread;
  private volatile boolean closed;
  private volatile boolean sleeping;
  private volatile boolean flushing;

  /** When a message is due; kept with the message, made once. */
  private static final class Due {
    long ns;
  }

  /**
   * @param next who then sends the message
   * @param dueAt from the time of a send to the time of its outcome
   */
  DelayedProducer(String name, MessageProducer next, int inFlightMax, LongUnaryOperator dueAt) {
    this.next = next;
    this.dueAt = dueAt;
    this.waiting = new SpscArrayQueue<>(Math.max(4, inFlightMax));
    this.thread = Threads.start(name, this);
  }

  @Override
  public void send(InFlight message) {
    Due due = (Due) message.driverState;
    if (due == null) {
      due = new Due();
      message.driverState = due;
    }
    due.ns = dueAt.applyAsLong(System.nanoTime());
    if (!waiting.offer(message)) {
      message.failed(new IllegalStateException("null driver: more messages in flight than agreed"));
    }
    if (sleeping) {
      LockSupport.unpark(thread);
    }
  }

  @Override
  public void run() {
    Timers.sharpen();
    while (!closed) {
      InFlight message = waiting.poll();
      if (message == null) {
        idle();
      } else {
        awaitDue(((Due) message.driverState).ns);
        if (closed) {
          return;
        }
        next.send(message);
      }
    }
  }

  private void idle() {
    if (flushing) {
      flushing = false;
      next.flush();
    }
    sleeping = true;
    if (waiting.isEmpty()) {
      LockSupport.parkNanos(PARK_NS_MAX);
    }
    sleeping = false;
  }

  private void awaitDue(long dueNs) {
    long now = System.nanoTime();
    while (now < dueNs && !closed) {
      if (dueNs - now > SPIN_NS) {
        LockSupport.parkNanos(Math.min(PARK_NS_MAX, dueNs - now - SPIN_NS));
      } else {
        Thread.onSpinWait();
      }
      now = System.nanoTime();
    }
  }

  @Override
  public void flush() {
    flushing = true;
  }

  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
    Threads.awaitEnd(thread, 2_000);
    next.close();
  }
}
