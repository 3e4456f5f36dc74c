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
    return (producer, partition, sequence) ->
        raise(highest, producer, partitions, partition, sequence);
  }

  /**
   * Each producer's messages in order within each key, which follows from the sequence.
   *
   * @param producersFrom number of the topic's first producer
   */
  static Order byKey(int producersFrom, int producers, Keys.Rule keys) {
    long[][] highest = new long[producers][];
    return (producer, partition, sequence) -> {
      int key = keys.indexOf(producersFrom + producer, sequence);
      return raise(highest, producer, keys.count(), key, sequence);
    };
  }

  /** Whether it is the highest of the producer's cell so far, which it then becomes. */
  private static boolean raise(long[][] highest, int producer, int cells, int cell, long sequence) {
    long[] row = highest[producer];
    if (row == null) {
      row = new long[PAD + cells + PAD];
      Arrays.fill(row, -1);
      highest[producer] = row;
    }
    if (sequence < row[PAD + cell]) {
      return false;
    }
    row[PAD + cell] = sequence;
    return true;
  }
}
