package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.AlreadyClosedException;
import com.rabbitmq.client.Channel;
import java.io.IOException;

/**
 * Acknowledges the deliveries of one channel in groups, all up to a delivery at once. Deliveries of
 * a channel come in the order of their tags, whichever queue they are from, and are processed in
 * that order by one thread; so everything up to the newest processed one may be acknowledged
 * together.
 */
final class GroupedAcks {
  private final Channel channel;
  private volatile int every = 1;
  private volatile long processed;

  /** Guarded by this. */
  private long acknowledged;

  GroupedAcks(Channel channel) {
    this.channel = channel;
  }

  /** How many deliveries are acknowledged together at the latest. */
  void every(int deliveries) {
    every = deliveries;
  }

  /** A delivery has been processed. By the one thread that processes them. */
  void processed(long tag) throws IOException {
    processed = tag;
    if (tag % every == 0) {
      flush();
    }
  }

  /** Acknowledges what has been processed since the last time. From any thread. */
  synchronized void flush() throws IOException {
    long newest = processed;
    if (newest > acknowledged) {
      acknowledged = newest;
      try {
        channel.basicAck(newest, true);
      } catch (AlreadyClosedException e) {
        // The broker delivers them again on the next channel: at least once.
      }
    }
  }
}
