package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.drivers.SharedClients;
import java.nio.charset.StandardCharsets;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.TypedMessageBuilder;

/** A Pulsar producer of one topic. Allocates nothing per message besides what the client does. */
final class TopicProducer implements MessageProducer {
  private static final long CLOSE_TIMEOUT_MS = 5_000;
  private static final int KEYS_KEPT_MAX = 1 << 20;

  private final SharedClients.Hold<PulsarClient> held;
  private final Producer<byte[]> producer;

  /**
   * The client wants keys as text and would encode bytes as base 64 each time. Filled by the one
   * thread that sends.
   */
  private final Map<byte[], String> keyTexts = new IdentityHashMap<>();

  TopicProducer(SharedClients.Hold<PulsarClient> held, Producer<byte[]> producer) {
    this.held = held;
    this.producer = producer;
  }

  @Override
  public void send(InFlight message) {
    Outcome outcome = message.driverState instanceof Outcome made ? made : outcomeOf(message);
    CompletableFuture<MessageId> sent;
    try {
      TypedMessageBuilder<byte[]> builder = producer.newMessage().value(message.value());
      byte[] key = message.key();
      if (key != null) {
        builder.key(text(key));
      }
      sent = builder.sendAsync();
    } catch (RuntimeException e) {
      message.failed(e);
      return;
    }
    sent.whenComplete(outcome);
  }

  private static Outcome outcomeOf(InFlight message) {
    Outcome outcome = new Outcome(message);
    message.driverState = outcome;
    return outcome;
  }

  private String text(byte[] key) {
    String text = keyTexts.get(key);
    if (text == null) {
      text = new String(key, StandardCharsets.UTF_8);
      if (keyTexts.size() < KEYS_KEPT_MAX) {
        keyTexts.put(key, text);
      }
    }
    return text;
  }

  @Override
  public void flush() {
    // Its future waits for the acknowledgements; the batches go out at once.
    CompletableFuture<Void> acknowledged = producer.flushAsync();
    acknowledged.exceptionally(failure -> null);
  }

  @Override
  public void close() {
    Closing.quietly(producer.closeAsync().thenCompose(done -> release(held)), CLOSE_TIMEOUT_MS);
  }

  /** Gives up a part in a client; the last one closes it. */
  static CompletableFuture<Void> release(SharedClients.Hold<PulsarClient> held) {
    return held.release() ? held.client().closeAsync() : CompletableFuture.completedFuture(null);
  }

  /** What the client refuses before it sends anything. */
  static boolean isNeverSent(Throwable failure) {
    return failure instanceof PulsarClientException.ProducerQueueIsFullError
        || failure instanceof PulsarClientException.MemoryBufferIsFullError
        || failure instanceof PulsarClientException.InvalidMessageException;
  }

  /** Reports its outcomes to one {@link InFlight}, made once. */
  private static final class Outcome implements BiConsumer<MessageId, Throwable> {
    private final InFlight message;

    Outcome(InFlight message) {
      this.message = message;
    }

    @Override
    public void accept(MessageId id, Throwable failure) {
      if (failure == null) {
        if (id instanceof MessageIdAdv place) {
          // Of a topic without partitions it is -1.
          message.at(Math.max(0, place.getPartitionIndex()), WholePartition.position(place));
        }
        message.acked();
      } else if (isNeverSent(failure)) {
        message.refused(failure);
      } else {
        message.failed(failure);
      }
    }
  }
}
