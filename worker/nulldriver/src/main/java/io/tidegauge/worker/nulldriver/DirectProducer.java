package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageProducer;

/** Delivers and acknowledges at once, within the call. */
final class DirectProducer implements MessageProducer {

  private final Delivery delivery;

  DirectProducer(Delivery delivery) {
    this.delivery = delivery;
  }

  @Override
  public void send(InFlight message) {
    if (delivery.deliver(message.value(), message.key())) {
      message.acked();
    } else {
      message.failed(new IllegalStateException("null driver: told to fail"));
    }
  }

  @Override
  public void flush() {
    delivery.deliverHeld();
  }

  @Override
  public void close() {
    delivery.deliverHeld();
  }
}
