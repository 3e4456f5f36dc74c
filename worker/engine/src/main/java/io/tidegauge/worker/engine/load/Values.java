package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.engine.figures.Counters;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;

/**
 * Message values of one load thread, for clients that copy what they are given: one for each body,
 * used in turn.
 */
final class Values {
  /**
   * Memory for the values of all load threads; a thread holds fewer bodies rather than more than
   * its share.
   */
  static final long BYTES_MAX = 32L << 20;

  private final byte[][] values;
  private final Counters next = new Counters(1);

  Values(PayloadPool pool, long trialId, int threads) {
    long fit = BYTES_MAX / ((long) threads * pool.messageBytes());
    values = new byte[(int) Math.max(1, Math.min(pool.size(), fit))][];
    for (int i = 0; i < values.length; i++) {
      values[i] = pool.newValue(trialId, 0, i);
    }
  }

  byte[] next(int producer) {
    int at = (int) next.own(0);
    byte[] value = values[at];
    next.set(0, at + 1 == values.length ? 0 : at + 1);
    if (MessageHeader.producer(value, 0) != producer) {
      MessageHeader.writeProducer(value, producer);
    }
    return value;
  }

  int count() {
    return values.length;
  }
}
