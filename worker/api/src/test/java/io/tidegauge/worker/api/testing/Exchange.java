package io.tidegauge.worker.api.testing;

import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import java.nio.ByteBuffer;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** Sends numbered messages through a driver with a bounded window and checks what arrives. */
public final class Exchange {
  public final AtomicInteger acked = new AtomicInteger();
  public final AtomicReference<Throwable> failure = new AtomicReference<>();
  private final boolean sharing;

  /**
   * @param sharing whether all messages pass through one array, as they may if the driver does not
   *     retain it
   */
  public Exchange(boolean sharing) {
    this.sharing = sharing;
  }

  /**
   * Sends {@code count} messages numbered from 0 and waits until every one of them has its outcome.
   */
  public void send(
      MessageProducer producer, int producerId, int count, int messageBytes, boolean keyed)
      throws InterruptedException {
    int window = Math.min(count, 1000);
    ArrayBlockingQueue<Slot> free = new ArrayBlockingQueue<>(window);
    byte[] shared = new byte[messageBytes];
    for (int i = 0; i < window; i++) {
      free.add(new Slot(this, free, sharing ? shared : new byte[messageBytes], keyed));
    }
    for (int number = 0; number < count; number++) {
      Slot slot = free.poll(30, TimeUnit.SECONDS);
      if (slot == null) {
        throw new AssertionError("no outcome within 30 s; first failure: " + failure.get());
      }
      slot.fill(producerId, number);
      producer.send(slot);
    }
    producer.flush();
    for (int i = 0; i < window; i++) {
      if (free.poll(30, TimeUnit.SECONDS) == null) {
        throw new AssertionError("no outcome within 30 s; first failure: " + failure.get());
      }
    }
  }

  /** A message in flight that goes back to the free ones when its outcome is known. */
  private static final class Slot extends InFlight {
    private final Exchange exchange;
    private final ArrayBlockingQueue<Slot> free;
    private final byte[] value;
    private final byte[] key;

    Slot(Exchange exchange, ArrayBlockingQueue<Slot> free, byte[] value, boolean keyed) {
      this.exchange = exchange;
      this.free = free;
      this.value = value;
      this.key = keyed ? new byte[Integer.BYTES] : null;
    }

    void fill(int producerId, int number) {
      ByteBuffer.wrap(value).putInt(producerId).putInt(number);
      if (key != null) {
        ByteBuffer.wrap(key).putInt(number % 1000);
      }
    }

    @Override
    public byte[] value() {
      return value;
    }

    @Override
    public byte[] key() {
      return key;
    }

    @Override
    public void acked() {
      exchange.acked.incrementAndGet();
      free.add(this);
    }

    @Override
    public void failed(Throwable cause) {
      exchange.failure.compareAndSet(null, cause);
      free.add(this);
    }
  }

  /** What one subscription received, over all its consumers. */
  public static final class Received implements MessageSink {
    public final int messageBytes;
    public int duplicated;
    public int reordered;
    public int wrongLength;
    private int unique;
    public Throwable error;
    private final Map<Integer, BitSet> seenByProducer = new HashMap<>();
    private final Map<Long, Integer> lastByProducerAndPartition = new HashMap<>();
    public final BitSet partitions = new BitSet();

    public Received(int messageBytes) {
      this.messageBytes = messageBytes;
    }

    @Override
    public synchronized void received(
        int topic, int partition, byte[] array, int offset, int length, long receivedMonoNs) {
      if (length != messageBytes) {
        wrongLength++;
        return;
      }
      ByteBuffer value = ByteBuffer.wrap(array, offset, length);
      int producer = value.getInt();
      int number = value.getInt();
      BitSet seen = seenByProducer.computeIfAbsent(producer, id -> new BitSet());
      if (seen.get(number)) {
        duplicated++;
      } else {
        unique++;
        seen.set(number);
      }
      partitions.set(partition);
      Integer last = lastByProducerAndPartition.put(((long) producer << 32) | partition, number);
      if (last != null && last >= number) {
        reordered++;
      }
    }

    @Override
    public synchronized void error(Throwable cause) {
      error = error == null ? cause : error;
    }

    public synchronized int unique() {
      return unique;
    }

    /** Waits until {@code count} different messages are here; at most 30 s. */
    public void await(int count) throws InterruptedException {
      long untilMonoNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
      while (unique() < count && System.nanoTime() < untilMonoNs) {
        Thread.sleep(5);
      }
    }
  }
}
