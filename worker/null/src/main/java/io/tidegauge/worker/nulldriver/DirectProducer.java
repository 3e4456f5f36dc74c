package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageProducer;

/**
 * Delivers at once, within the call, and acknowledges there too: each message, or several together
 * as real clients do.
 */
final class DirectProducer implements MessageProducer {

  private final Delivery delivery;
  private final InFlight[] waiting;
  private int count;

  /**
   * @param ackBatch messages acknowledged together
   */
  DirectProducer(Delivery delivery, int ackBatch) {
    this.delivery = delivery;
    this.waiting = new InFlight[Math.max(1, ackBatch)];
  }

  @Override
  public void send(InFlight message) {
    if (!delivery.deliver(message.value(), message.key())) {
      message.failed(new IllegalStateException("null driver: told to fail"));
    } else if (waiting.length == 1) {
      message.acked();
    } else {
      waiting[count++] = message;
      if (count == waiting.length) {
        acknowledge();
      }
    }
  }

  private void acknowledge() {
    long now = System.nanoTime();
    for (int i = 0; i < count; i++) {
      waiting[i].acked(now);
    }
    count = 0;
  }

  /** Called once nothing is sent any more. */
  @Override
  public void flush() {
    acknowledge();
    delivery.deliverHeld();
  }

  @Override
  public void close() {
    flush();
  }
}
