package io.tidegauge.worker.kafka;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.errors.TimeoutException;

/**
 * What a consumer does about data that the client refuses. The client keeps what it fetched, and
 * refuses it at each poll: a bit that was flipped on the way would end the reading for good. So it
 * is fetched anew once; what is refused again is damaged where it is kept, and passed over, one
 * message at a time. All in the thread that polls.
 */
final class Refusals {
  private static final Duration QUESTION = Duration.ofSeconds(1);

  /** As long as it takes to fetch what is there. */
  private static final Duration TRIAL = Duration.ofMillis(500);

  /** Polls once for at most so long and hands over what comes. */
  interface Delivery {
    boolean next(Duration wait);
  }

  /** Is told of a message that was passed over. */
  interface Damaged {
    void message(int partition, Throwable cause);
  }

  private final Consumer<?, ?> client;
  private final Delivery delivery;
  private final Damaged damaged;

  /** Positions from which was fetched anew. */
  private final Map<TopicPartition, Long> fetchedAnew = new HashMap<>();

  Refusals(Consumer<?, ?> client, Delivery delivery, Damaged damaged) {
    this.client = client;
    this.delivery = delivery;
    this.damaged = damaged;
  }

  /**
   * Whether the client refuses what it fetched, rather than that it could not fetch. It has no
   * exception of its own for that: its words are about the record, its cause says what is wrong.
   */
  static boolean isOfData(RuntimeException failure) {
    if (failure instanceof CorruptRecordException || failure instanceof SerializationException) {
      return true;
    }
    return failure.getClass() == KafkaException.class
        && failure.getCause() instanceof KafkaException cause
        && (!(cause instanceof ApiException) || cause instanceof CorruptRecordException);
  }

  /** Gets over it. */
  void meet(RuntimeException failure) {
    Map<TopicPartition, Long> at = positions();
    List<TopicPartition> again =
        at.keySet().stream().filter(one -> at.get(one).equals(fetchedAnew.get(one))).toList();
    fetchedAnew.clear();
    if (again.isEmpty()) {
      fetchAnew(at);
      fetchedAnew.putAll(at);
    } else {
      again.forEach(partition -> passOverIfRefused(partition, at.get(partition), failure));
    }
  }

  private Map<TopicPartition, Long> positions() {
    Map<TopicPartition, Long> at = new HashMap<>();
    for (TopicPartition partition : client.assignment()) {
      try {
        at.put(partition, client.position(partition, QUESTION));
      } catch (TimeoutException e) {
        // Nothing was fetched of it yet.
      }
    }
    return at;
  }

  /**
   * The client drops what it holds only if it is asked, meanwhile, for something else. What comes
   * of that comes again.
   */
  private void fetchAnew(Map<TopicPartition, Long> at) {
    at.forEach((partition, position) -> seek(partition, position + 1));
    client.poll(Duration.ZERO);
    at.forEach(this::seek);
  }

  private void seek(TopicPartition partition, long position) {
    if (client.assignment().contains(partition)) {
      client.seek(partition, position);
    }
  }

  /** Polled alone, it is its data that is refused. */
  private void passOverIfRefused(TopicPartition partition, long position, Throwable failure) {
    Set<TopicPartition> paused = Set.copyOf(client.paused());
    List<TopicPartition> others =
        client.assignment().stream().filter(one -> !one.equals(partition)).toList();
    client.pause(others);
    try {
      for (long at = position; isRefused(); at++) {
        seek(partition, at + 1);
        damaged.message(partition.partition(), failure);
      }
    } finally {
      client.resume(others.stream().filter(one -> !paused.contains(one)).toList());
    }
  }

  private boolean isRefused() {
    try {
      delivery.next(TRIAL);
      return false;
    } catch (KafkaException e) {
      if (isOfData(e)) {
        return true;
      }
      throw e;
    }
  }
}
