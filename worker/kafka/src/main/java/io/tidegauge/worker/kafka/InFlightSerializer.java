package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.InFlight;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Serializers that take key and value from the message in flight at the time of sending. So one
 * immutable ProducerRecord, made once for each {@link InFlight}, serves all messages that pass
 * through it. Public for the client, which makes them.
 */
public final class InFlightSerializer {
  private InFlightSerializer() {}

  /** The key's bytes, or null. */
  public static final class Key implements Serializer<InFlight> {
    @Override
    public byte[] serialize(String topic, InFlight message) {
      return message.key();
    }
  }

  /** The value's bytes; the client copies them into its batch. */
  public static final class Value implements Serializer<InFlight> {
    @Override
    public byte[] serialize(String topic, InFlight message) {
      return message.value();
    }
  }
}
