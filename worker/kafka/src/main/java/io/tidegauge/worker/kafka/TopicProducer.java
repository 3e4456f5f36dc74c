package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.drivers.SharedClients;
import java.time.Duration;
import org.apache.kafka.clients.producer.BufferExhaustedException;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordTooLargeException;

/** A Kafka producer of one topic. Allocates nothing per message besides what the client does. */
final class TopicProducer implements MessageProducer {
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

  private final SharedClients.Hold<KafkaProducer<InFlight, InFlight>> held;
  private final KafkaProducer<InFlight, InFlight> client;
  private final String topic;

  TopicProducer(SharedClients.Hold<KafkaProducer<InFlight, InFlight>> held, String topic) {
    this.held = held;
    this.client = held.client();
    this.topic = topic;
  }

  @Override
  public void send(InFlight message) {
    Sending sending =
        message.driverState instanceof Sending made && made.owner == this
            ? made
            : sendingOf(message);
    try {
      client.send(sending.message, sending);
    } catch (RuntimeException e) {
      // Thrown only where the client does not call back: buffers, metadata and size errors come
      // through the callback.
      message.failed(e);
    }
  }

  private Sending sendingOf(InFlight message) {
    Sending sending = new Sending(this, topic, message);
    message.driverState = sending;
    return sending;
  }

  /**
   * Nothing to do: the client has no flush that does not wait, and sends a batch after linger.ms at
   * the latest.
   */
  @Override
  public void flush() {}

  @Override
  public void close() {
    if (held.release()) {
      client.close(CLOSE_TIMEOUT);
    }
  }

  /** What the client throws before a message comes into a batch. */
  static boolean isNeverSent(Exception failure) {
    return failure instanceof RecordTooLargeException
        || failure instanceof BufferExhaustedException
        || failure instanceof InvalidTopicException;
  }

  /** The record and callback of one {@link InFlight}, made once. */
  private static final class Sending implements Callback {
    private final TopicProducer owner;
    private final InFlight inFlight;
    private final ProducerRecord<InFlight, InFlight> message;

    Sending(TopicProducer owner, String topic, InFlight inFlight) {
      this.owner = owner;
      this.inFlight = inFlight;
      this.message = new ProducerRecord<>(topic, inFlight, inFlight);
    }

    @Override
    public void onCompletion(RecordMetadata metadata, Exception failure) {
      if (failure == null) {
        inFlight.at(metadata.partition(), metadata.hasOffset() ? metadata.offset() : -1);
        inFlight.acked();
      } else if (isNeverSent(failure)) {
        inFlight.refused(failure);
      } else {
        inFlight.failed(failure);
      }
    }
  }
}
