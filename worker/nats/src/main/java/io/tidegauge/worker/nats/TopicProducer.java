package io.tidegauge.worker.nats;

import io.nats.client.ConnectionListener;
import io.nats.client.Message;
import io.nats.client.api.PublishAck;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.drivers.PartitionChooser;
import io.tidegauge.worker.drivers.SharedClients;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Publishes to the streams of a topic. An acknowledgement is an answer to a request, as the
 * client's own asynchronous publishing has it, which lets nobody choose how long it waits.
 */
final class TopicProducer implements MessageProducer {
  private final SharedClients.Hold<io.nats.client.Connection> held;
  private final io.nats.client.Connection client;
  private final String[] subjects;
  private final Duration wait;

  /** Answers that are waited for: with a connection those that were asked for over it are lost. */
  private final Set<CompletableFuture<Message>> awaited = ConcurrentHashMap.newKeySet();

  private final ConnectionListener listener = this::heard;
  private final PartitionChooser chooser;

  /**
   * @param first where the round of partitions begins, so that producers do not march in step
   */
  TopicProducer(
      SharedClients.Hold<io.nats.client.Connection> held, Topic topic, int first, Duration wait) {
    this.held = held;
    this.client = held.client();
    this.subjects = new String[topic.partitions];
    Arrays.setAll(subjects, topic::subject);
    this.chooser = new PartitionChooser(topic.partitions, first);
    this.wait = wait;
    client.addConnectionListener(listener);
  }

  private void heard(io.nats.client.Connection connection, ConnectionListener.Events event) {
    if (event == ConnectionListener.Events.DISCONNECTED) {
      IOException lost = new IOException("the connection was lost");
      awaited.forEach(answer -> answer.completeExceptionally(lost));
    }
  }

  @Override
  public void send(InFlight message) {
    int partition = chooser.partitionOf(message.key());
    CompletableFuture<Message> answer;
    try {
      answer = client.requestWithTimeout(subjects[partition], message.value(), wait);
    } catch (RuntimeException e) {
      // It is too large, or the connection is closed: the client has not taken it.
      message.refused(e);
      return;
    }
    awaited.add(answer);
    answer.whenComplete(
        (reply, failure) -> {
          awaited.remove(answer);
          end(message, partition, reply, failure);
        });
  }

  private static void end(InFlight message, int partition, Message reply, Throwable failure) {
    if (failure != null) {
      if (Failures.isUnanswered(failure)) {
        message.refused(failure);
      } else {
        message.failed(failure);
      }
      return;
    }
    PublishAck ack;
    try {
      ack = new PublishAck(reply);
    } catch (Exception e) {
      message.failed(e);
      return;
    }
    message.at(partition, ack.getSeqno());
    message.acked();
  }

  /** Nothing to do: the client writes as soon as it can. */
  @Override
  public void flush() {}

  @Override
  public void close() {
    client.removeConnectionListener(listener);
    if (held.release()) {
      NatsDriver.closeQuietly(client);
    }
  }
}
