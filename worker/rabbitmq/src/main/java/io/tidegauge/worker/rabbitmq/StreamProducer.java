package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.stream.ConfirmationHandler;
import com.rabbitmq.stream.ConfirmationStatus;
import com.rabbitmq.stream.Constants;
import com.rabbitmq.stream.Environment;
import com.rabbitmq.stream.Producer;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.drivers.PartitionChooser;
import io.tidegauge.worker.drivers.SharedClients;
import java.io.IOException;
import java.util.function.IntFunction;

/** Publishes to the streams of a topic, one client producer for each. */
final class StreamProducer implements MessageProducer {
  private final SharedClients.Hold<Environment> held;
  private final Producer[] producers;
  private final PartitionChooser chooser;
  private final boolean copying;

  /**
   * @param copying whether the value's array may change before the outcome is reported, which the
   *     client can't stand
   */
  StreamProducer(
      StreamClients clients,
      ProducerSpec spec,
      int number,
      StreamOptions options,
      IntFunction<String> streamOf,
      boolean copying)
      throws DriverException {
    this.copying = copying;
    held = clients.forProducer(spec.clientId());
    Environment environment = held.client();
    producers = new Producer[spec.partitions()];
    chooser = new PartitionChooser(spec.partitions(), number);
    try {
      for (int partition = 0; partition < producers.length; partition++) {
        String stream = streamOf.apply(partition);
        producers[partition] =
            clients.whenReady(
                "create a producer for " + stream,
                () -> options.applyTo(environment.producerBuilder().stream(stream)).build());
      }
    } catch (DriverException e) {
      close();
      throw e;
    }
  }

  @Override
  public void send(InFlight message) {
    Confirmation confirmation =
        message.driverState instanceof Confirmation known && known.of == this
            ? known
            : new Confirmation(this, message);
    message.driverState = confirmation;
    int partition = chooser.partitionOf(message.key());
    Producer producer = producers[partition];
    message.at(partition, -1);
    byte[] value = copying ? message.value().clone() : message.value();
    try {
      producer.send(producer.messageBuilder().addData(value).build(), confirmation);
    } catch (RuntimeException e) {
      // Thrown before the client has taken the message: what it took and gave up comes through the
      // confirmation.
      message.refused(
          new IOException("RabbitMQ's stream could not take a message: " + Failures.words(e)));
    }
  }

  /**
   * Nothing to do: with dynamic batches nothing is held back, else the client's own delay ends it.
   */
  @Override
  public void flush() {}

  @Override
  public void close() {
    for (Producer producer : producers) {
      if (producer != null) {
        closeQuietly(producer);
      }
    }
    StreamClients.release(held);
  }

  static void closeQuietly(AutoCloseable client) {
    try {
      client.close();
    } catch (Exception e) {
      // The trial is over; the connection ends with the environment.
    }
  }

  private static String reason(short code) {
    return switch (code) {
      case Constants.CODE_PUBLISH_CONFIRM_TIMEOUT -> "no confirm in time";
      case Constants.CODE_PRODUCER_NOT_AVAILABLE -> "its connection, or the stream, is gone";
      case Constants.CODE_PRODUCER_CLOSED -> "the producer is closed";
      default -> "code " + code;
    };
  }

  /** The callback of one {@link InFlight}, made once. */
  static final class Confirmation implements ConfirmationHandler {
    private final StreamProducer of;
    private final InFlight message;

    Confirmation(StreamProducer of, InFlight message) {
      this.of = of;
      this.message = message;
    }

    @Override
    public void handle(ConfirmationStatus status) {
      if (status.isConfirmed()) {
        message.acked();
      } else {
        message.failed(
            new IOException(
                "RabbitMQ's stream client gave the message up: " + reason(status.getCode())));
      }
    }
  }
}
