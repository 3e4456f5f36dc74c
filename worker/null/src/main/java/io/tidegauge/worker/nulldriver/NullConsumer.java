package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.Threads;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import org.jctools.queues.MpscUnboundedArrayQueue;

/**
 * Takes from its queues on a thread of its own: sleeps while nothing comes, takes in batches while
 * much comes.
 */
final class NullConsumer implements MessageConsumer, Runnable, ChunkQueue.Taker {
  private static final int CHUNKS_IN_A_ROW = 8;
  private static final int SPINS = 60;
  private static final int BUSY_MESSAGES = 16;
  private static final long BUSY_PARK_NS = 20_000;
  private static final long IDLE_PARK_NS = 1_000_000;

  /** With more queues than this, to look at all of them takes longer than to be told of each. */
  private static final int FEW_QUEUES = 16;

  private final MessageSink sink;
  private final int topic;
  private final long consumeNs;
  private final List<ChunkQueue> queues = new CopyOnWriteArrayList<>();
  private final MpscUnboundedArrayQueue<ChunkQueue> filled = new MpscUnboundedArrayQueue<>(256);
  private final Thread thread;

  /** Whether those who publish say which queue it was. */
  private volatile boolean told;

  private volatile boolean paused;
  private volatile boolean closed;
  private volatile boolean sleeping;
  private long nowNs;

  /**
   * @param consumeNs what each message costs
   */
  NullConsumer(String name, int topic, MessageSink sink, boolean paused, long consumeNs) {
    this.sink = sink;
    this.topic = topic;
    this.consumeNs = consumeNs;
    this.paused = paused;
    this.thread = Threads.start(name, this);
  }

  ChunkQueue newQueue(int messageBytes, long bytesMax) {
    ChunkQueue queue = new ChunkQueue(messageBytes, bytesMax, () -> !paused);
    queues.add(queue);
    if (queues.size() > FEW_QUEUES) {
      told = true;
      queues.forEach(this::announce);
    }
    return queue;
  }

  private void announce(ChunkQueue queue) {
    if (queue.announce()) {
      filled.offer(queue);
    }
  }

  /** A message has been published in one of the queues: wakes the thread if it sleeps. */
  void wake(ChunkQueue queue) {
    if (told) {
      announce(queue);
    }
    if (sleeping) {
      sleeping = false;
      LockSupport.unpark(thread);
    }
  }

  @Override
  public void run() {
    Timers.sharpen();
    int spins = 0;
    int last = 0;
    while (!closed) {
      int n = paused ? 0 : takeAll();
      if (n > 0) {
        last = n;
        spins = 0;
        if (n >= BUSY_MESSAGES) {
          // Plenty comes: let some gather instead of running after each message.
          LockSupport.parkNanos(BUSY_PARK_NS);
        }
      } else if (spins++ < SPINS && last < BUSY_MESSAGES && !paused) {
        Thread.onSpinWait();
      } else {
        last = 0;
        sleep();
      }
    }
  }

  private int takeAll() {
    int n = 0;
    if (told) {
      for (int left = queues.size(); left > 0; left--) {
        ChunkQueue queue = filled.relaxedPoll();
        if (queue == null) {
          break;
        }
        queue.lookAfter();
        n += takeSome(queue);
        if (!queue.isEmpty()) {
          announce(queue);
        }
      }
      return n;
    }
    for (int i = 0; i < queues.size(); i++) {
      n += takeSome(queues.get(i));
    }
    return n;
  }

  private int takeSome(ChunkQueue queue) {
    int n = 0;
    for (int c = 0; c < CHUNKS_IN_A_ROW && !queue.isEmpty(); c++) {
      n += queue.take(this);
    }
    return n;
  }

  private void sleep() {
    sleeping = true;
    // A producer reads the flag without a fence: give what it published just before time to arrive.
    for (int i = 0; i < 10; i++) {
      Thread.onSpinWait();
    }
    if (paused || isNothingThere()) {
      LockSupport.parkNanos(IDLE_PARK_NS);
    }
    sleeping = false;
  }

  private boolean isNothingThere() {
    if (told) {
      return filled.isEmpty();
    }
    for (ChunkQueue queue : queues) {
      if (!queue.isEmpty()) {
        return false;
      }
    }
    return true;
  }

  /** Not before the messages were visible, else one could be received before it was sent. */
  @Override
  public void beginBatch() {
    nowNs = System.nanoTime();
  }

  @Override
  public void take(int partition, byte[] array, int offset, int length) {
    if (consumeNs > 0) {
      work();
    }
    sink.received(topic, partition, array, offset, length, nowNs);
  }

  /** What follows in the batch is received only after it. */
  private void work() {
    long until = System.nanoTime() + consumeNs;
    do {
      Thread.onSpinWait();
      nowNs = System.nanoTime();
    } while (nowNs < until && !closed);
  }

  @Override
  public void pause() {
    paused = true;
  }

  @Override
  public void resume() {
    paused = false;
    LockSupport.unpark(thread);
  }

  /** Waits until all has been taken, unless paused. */
  void awaitEmpty(long millis) throws InterruptedException {
    long deadline = System.nanoTime() + millis * 1_000_000;
    while (!paused && !(isNothingThere() && sleeping) && System.nanoTime() < deadline) {
      Thread.sleep(1);
    }
  }

  @Override
  public void close() {
    closed = true;
    queues.forEach(ChunkQueue::close);
    LockSupport.unpark(thread);
    Threads.awaitEnd(thread, 2_000);
  }
}
