package io.tidegauge.worker.nulldriver;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jctools.queues.SpscArrayQueue;

/**
 * Messages from one producer on their way to one consumer, as copies in chunks of memory that are
 * used again. One thread puts, one takes. A full queue blocks the one who puts, until there is room
 * or the queue is closed.
 */
final class ChunkQueue {
  /** What is done with a message taken. */
  interface Taker {
    void take(int partition, byte[] array, int offset, int length);

    /** Messages have become visible and are about to be taken: the moment to read the clock. */
    void beginBatch();
  }

  private static final int CHUNK_BYTES = 128 << 10;
  private static final int CHUNKS_WHILE_TAKING = 16;
  private static final int RECORD_HEAD_BYTES = 8;

  /**
   * Cells around what one side writes with every message, so that nobody else waits for its cache
   * line.
   */
  private static final int PAD = 16;

  private static final int TAIL = PAD;
  private static final int LAST = PAD + 1;
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.nativeOrder());
  private static final VarHandle WRITTEN;
  private static final VarHandle NEXT;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      WRITTEN = MethodHandles.arrayElementVarHandle(long[].class);
      NEXT = lookup.findVarHandle(Chunk.class, "next", Chunk.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static final class Chunk {
    final byte[] bytes;

    // Both written by the one who puts and read by the one who takes, through the handles above.
    private final long[] written = new long[PAD + 1 + PAD];

    @SuppressWarnings("UnusedVariable")
    private Chunk next;

    Chunk(int size) {
      bytes = new byte[size];
    }
  }

  private final int chunkBytes;
  private final long chunksMax;
  private final BooleanSupplier taking;

  /** Whether the taker has been told that something is there, and has not looked since. */
  private final AtomicBoolean announced = new AtomicBoolean();

  private final SpscArrayQueue<Chunk> recycled = new SpscArrayQueue<>(CHUNKS_WHILE_TAKING);
  private volatile boolean closed;
  private volatile long chunksTaken;

  // Of the one who puts: where the next copy goes, and the last one went.
  private Chunk tail;
  private final long[] at = new long[PAD + 2 + PAD];
  private long chunksPut = 1;

  // Of the one who takes.
  private Chunk head;
  private final long[] headAt = new long[PAD + 1 + PAD];

  /**
   * @param taking whether the taker is running, or paused
   */
  ChunkQueue(int messageBytes, long bytesMax, BooleanSupplier taking) {
    this.taking = taking;
    chunkBytes = Math.max(CHUNK_BYTES, 2 * recordBytes(messageBytes));
    chunksMax = Math.max(2, bytesMax / chunkBytes);
    tail = new Chunk(chunkBytes);
    head = tail;
  }

  private static int recordBytes(int length) {
    return (RECORD_HEAD_BYTES + length + 7) & ~7;
  }

  /**
   * Copies a message in. Returns the copy's array; the copy itself begins at {@link #lastOffset}.
   */
  byte[] copy(int partition, byte[] value) {
    int needed = recordBytes(value.length);
    if (at[TAIL] + needed > tail.bytes.length) {
      nextChunk();
    }
    byte[] bytes = tail.bytes;
    int to = (int) at[TAIL];
    INT.set(bytes, to, value.length);
    INT.set(bytes, to + 4, partition);
    System.arraycopy(value, 0, bytes, to + RECORD_HEAD_BYTES, value.length);
    at[LAST] = to + RECORD_HEAD_BYTES;
    at[TAIL] = to + needed;
    return bytes;
  }

  /** Where the copy made last begins. */
  int lastOffset() {
    return (int) at[LAST];
  }

  /** Lets the taker see what was copied in. */
  void publish() {
    WRITTEN.setRelease(tail.written, PAD, at[TAIL]);
  }

  private void nextChunk() {
    publish();
    while (chunksPut - chunksTaken >= chunksAllowed() && !closed) {
      LockSupport.parkNanos(20_000);
    }
    Chunk chunk = recycled.relaxedPoll();
    if (chunk == null) {
      chunk = new Chunk(chunkBytes);
    }
    NEXT.setRelease(tail, chunk);
    tail = chunk;
    at[TAIL] = 0;
    chunksPut++;
  }

  /**
   * A paused taker lets a backlog grow; a working one that is slow holds up the one who puts, as a
   * system would.
   */
  private long chunksAllowed() {
    return taking.getAsBoolean() ? Math.min(chunksMax, CHUNKS_WHILE_TAKING) : chunksMax;
  }

  /**
   * After {@link #publish}: whether the taker is still to be told. A full fence, so that either the
   * taker sees what was published or this says yes.
   */
  boolean announce() {
    return announced.compareAndSet(false, true);
  }

  /** By the taker, before it looks. */
  void lookAfter() {
    announced.set(false);
  }

  boolean isEmpty() {
    return headAt[PAD] == written(head) && NEXT.getAcquire(head) == null;
  }

  /** Takes what is there, at most one chunk. Returns how many messages that was. */
  int take(Taker taker) {
    Chunk next = (Chunk) NEXT.getAcquire(head);
    int written = written(head);
    if (headAt[PAD] == written) {
      if (next == null) {
        return 0;
      }
      recycle(head);
      head = next;
      headAt[PAD] = 0;
      written = written(head);
    }
    if (headAt[PAD] < written) {
      taker.beginBatch();
    }
    int n = 0;
    byte[] bytes = head.bytes;
    int from = (int) headAt[PAD];
    while (from < written) {
      int length = (int) INT.get(bytes, from);
      taker.take((int) INT.get(bytes, from + 4), bytes, from + RECORD_HEAD_BYTES, length);
      from += recordBytes(length);
      n++;
    }
    headAt[PAD] = from;
    return n;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // Written by the taker only.
  private void recycle(Chunk chunk) {
    chunk.next = null;
    chunk.written[PAD] = 0;
    recycled.relaxedOffer(chunk);
    chunksTaken++;
  }

  private static int written(Chunk chunk) {
    return (int) (long) WRITTEN.getAcquire(chunk.written, PAD);
  }

  void close() {
    closed = true;
  }
}
