package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.DriverException;
import java.util.Locale;

/** What a partition is made of. */
enum QueueType {
  CLASSIC,
  QUORUM,
  STREAM,
  /** A classic queue with mirrors on other nodes, by a policy; 3.x only. */
  MIRRORED;

  static QueueType of(String text) throws DriverException {
    for (QueueType type : values()) {
      if (type.text().equals(text)) {
        return type;
      }
    }
    throw new DriverException(
        "RabbitMQ has no queue.type \"" + text + "\"; it has classic, quorum, stream and mirrored");
  }

  String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** The value of the queue argument x-queue-type. */
  String argument() {
    return this == MIRRORED ? CLASSIC.text() : text();
  }
}
