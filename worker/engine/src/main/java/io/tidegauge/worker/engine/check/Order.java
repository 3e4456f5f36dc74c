package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.engine.load.Keys;
import java.util.Arrays;

/**
 * The order that a subscription promises, watched by one consumer: asked once for each new message,
 * in the order of receipt.
 */
public interface Order {
  /** Keeps a row of few cells, written for each message, out of the cache lines of others. */
  int PAD = 16;

  /** No order at all: any message may follow any other. */
  Order NONE = (producer, partition, sequence) -> true;

  /** Whether no later message of the same stretch of order was received before. */
  boolean keeps(int producer, int partition, long sequence);

  /** Each producer's messages in order within each partition. */
  static Order byPartition(int producers, int partitions) {
    long[][] highest = new long[producers][];
    return (producer, partition, sequence) -> {
      long[] row = highest[producer];
      if (row == null) {
        row = newRow(partitions);
        highest[producer] = row;
      }
      return raise(row, partition, sequence);
    };
  }

  /**
   * Each producer's messages in order within each key, which follows from the sequence.
   *
   * @param producersFrom number of the topic's first producer
   */
  static Order byKey(int producersFrom, int producers, Keys.Rule keys) {
    long[][] highest = new long[producers][];
    return (producer, partition, sequence) -> {
      long[] row = highest[producer];
      if (row == null) {
        row = newRow(keys.count());
        highest[producer] = row;
      }
      return raise(row, keys.indexOf(producersFrom + producer, sequence), sequence);
    };
  }

  private static long[] newRow(int cells) {
    long[] row = new long[PAD + cells + PAD];
    Arrays.fill(row, -1);
    return row;
  }

  private static boolean raise(long[] row, int cell, long sequence) {
    if (sequence < row[PAD + cell]) {
      return false;
    }
    row[PAD + cell] = sequence;
    return true;
  }
}
