package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;
import io.tidegauge.worker.engine.message.ShortMessage;

/**
 * Message values of one load thread, for clients that copy what they are given: one for each body,
 * used by each producer in turn.
 */
final class Values {
  /**
   * Memory for the values of all load threads; a thread holds fewer bodies rather than more than
   * its share.
   */
  static final long BYTES_MAX = 32L << 20;

  private final byte[][] values;
  private final boolean isShort;

  Values(PayloadPool pool, long trialId, int threads) {
    isShort = ShortMessage.isShort(pool.messageBytes());
    long fit = BYTES_MAX / ((long) threads * pool.messageBytes());
    values = new byte[(int) Math.max(1, Math.min(pool.size(), fit))][];
    for (int i = 0; i < values.length; i++) {
      values[i] = pool.newValue(trialId, 0, i);
    }
  }

  byte[] next(Producer producer) {
    byte[] value = values[producer.nextBody(values.length)];
    if (!isShort && MessageHeader.producer(value, 0) != producer.index) {
      MessageHeader.writeProducer(value, producer.index);
    }
    return value;
  }

  int count() {
    return values.length;
  }
}
