package io.tidegauge.worker.nulldriver;

import java.util.Arrays;

/**
 * Brings one producer's messages to the consumers, with the faults that were asked for. Used by one
 * thread.
 */
class Delivery {
  private static final int HEADER_BYTES = 48;
  private static final int HEADER_CHECKED_FROM = 8;

  private final NullSettings settings;
  private final NullTopic.Way[][] ways;
  private final int partitions;
  private final boolean faulty;
  private final byte[][] held;
  private long count;
  private int nextPartition;

  Delivery(NullSettings settings, NullTopic.Way[][] ways) {
    this(settings, ways, ways.length);
  }

  /**
   * For a way of one's own, by {@link #put}.
   *
   * @param ways null without those to consumers in this process
   */
  Delivery(NullSettings settings, NullTopic.Way[][] ways, int partitions) {
    this.settings = settings;
    this.ways = ways;
    this.partitions = partitions;
    this.faulty = settings.hasFaults();
    this.held = new byte[partitions][];
  }

  /**
   * Delivers a message. Returns whether it is to be acknowledged; if not it is to be reported as
   * failed.
   */
  boolean deliver(byte[] value, byte[] key) {
    int partition = partition(key);
    long n = count++;
    if (!faulty) {
      put(partition, value, -1);
      return true;
    }
    boolean failed = settings.failStored().contains(n) || settings.failLost().contains(n);
    if (!settings.lose().contains(n) && !settings.failLost().contains(n)) {
      deliverFaulty(partition, value, n);
    }
    return !failed;
  }

  private void deliverFaulty(int partition, byte[] value, long n) {
    int flipAt = -1;
    if (settings.flipBody().contains(n) && value.length > HEADER_BYTES) {
      flipAt = HEADER_BYTES + (int) (n % (value.length - HEADER_BYTES));
    } else if (settings.flipHeader().contains(n)) {
      int from = value.length > HEADER_CHECKED_FROM ? HEADER_CHECKED_FROM : 0;
      flipAt = from + (int) (n % (Math.min(HEADER_BYTES, value.length) - from));
    }
    if (settings.swap().contains(n) && held[partition] == null) {
      held[partition] = value.clone();
      return;
    }
    put(partition, value, flipAt);
    if (settings.duplicate().contains(n)) {
      put(partition, value, flipAt);
    }
    deliverHeld(partition);
  }

  /**
   * Brings a message on its way, as a copy.
   *
   * @param flipAt of which byte to flip a bit; -1 if of none
   */
  void put(int partition, byte[] value, int flipAt) {
    for (NullTopic.Way way : ways[partition]) {
      ChunkQueue queue = way.queue();
      byte[] copy = queue.copy(partition, value);
      if (flipAt >= 0) {
        copy[queue.lastOffset() + flipAt] ^= 1;
      }
      queue.publish();
      way.consumer().wake(queue);
    }
  }

  private int partition(byte[] key) {
    if (partitions == 1) {
      return 0;
    }
    if (key != null) {
      return Math.floorMod(Arrays.hashCode(key), partitions);
    }
    int partition = nextPartition;
    nextPartition = partition + 1 == partitions ? 0 : partition + 1;
    return partition;
  }

  /** Delivers what waits to be overtaken although nothing will overtake it. */
  void deliverHeld() {
    for (int p = 0; p < partitions; p++) {
      deliverHeld(p);
    }
  }

  private void deliverHeld(int partition) {
    if (held[partition] != null) {
      put(partition, held[partition], -1);
      held[partition] = null;
    }
  }
}
