package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import com.rabbitmq.client.ShutdownSignalException;
import io.tidegauge.worker.api.PartitionRead;
import io.tidegauge.worker.api.ReadBackSink;
import io.tidegauge.worker.api.ReadBackSpec;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Reads all messages of one queue without acknowledging any: as many as it says it has when reading
 * begins. They go back to their places when the channel is closed, which is waited for.
 */
final class WholeQueue {
  /** Of the protocol, for one consumer. */
  private static final int PREFETCH_MAX = 65_535;

  private static final long RETURN_MS_MAX = 20_000;
  private static final long POLL_MS = 50;

  private final ReadBackSpec spec;
  private final int partition;
  private final String queue;
  private final ReadBackSink sink;

  WholeQueue(ReadBackSpec spec, int partition, String queue, ReadBackSink sink) {
    this.spec = spec;
    this.partition = partition;
    this.queue = queue;
    this.sink = sink;
  }

  PartitionRead read(com.rabbitmq.client.Connection connection)
      throws IOException, TimeoutException, InterruptedException {
    long present;
    Messages messages;
    try (Channel channel = connection.createChannel()) {
      present = channel.queueDeclarePassive(queue).getMessageCount();
      messages = new Messages(channel, present);
      if (present > 0) {
        consume(channel, messages, present);
        messages.done.await(spec.leftMs(), TimeUnit.MILLISECONDS);
      }
    }
    messages.rethrow();
    awaitReturn(connection, present);
    String end = present + " messages";
    boolean complete = messages.taken >= present;
    String why = messages.cause.isEmpty() ? "not read to its end in time" : messages.cause;
    return new PartitionRead(
        spec.topicIndex(), partition, messages.taken, complete, complete ? "" : why, "", end);
  }

  /**
   * The server takes "unlimited" for 2,000 with quorum queues, so the prefetch is the largest that
   * there is, and there are as many consumers of the channel as that takes. What one channel is
   * sent arrives in the order of the queue.
   */
  private void consume(Channel channel, Messages messages, long present) throws IOException {
    channel.basicQos(PREFETCH_MAX);
    for (long served = 0; served < present; served += PREFETCH_MAX) {
      channel.basicConsume(queue, /* autoAck= */ false, messages);
    }
  }

  /** Whoever reads next is to find them all. */
  private void awaitReturn(com.rabbitmq.client.Connection connection, long present)
      throws IOException, TimeoutException, InterruptedException {
    long untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(RETURN_MS_MAX);
    try (Channel channel = connection.createChannel()) {
      while (channel.queueDeclarePassive(queue).getMessageCount() < present
          && System.nanoTime() < untilNs) {
        Thread.sleep(POLL_MS);
      }
    }
  }

  /** Takes the first so many messages. One thread of the client's delivers them. */
  private final class Messages extends DefaultConsumer {
    final CountDownLatch done = new CountDownLatch(1);
    private final long wanted;
    volatile long taken;
    volatile String cause = "";
    private volatile RuntimeException failure;

    Messages(Channel channel, long wanted) {
      super(channel);
      this.wanted = wanted;
    }

    // Written by one thread only.
    @SuppressWarnings("NonAtomicVolatileUpdate")
    @Override
    public void handleDelivery(
        String tag, Envelope envelope, AMQP.BasicProperties properties, byte[] body) {
      if (taken >= wanted || failure != null) {
        return;
      }
      try {
        sink.found(spec.topicIndex(), partition, taken, 0, body);
        taken++;
      } catch (RuntimeException e) {
        failure = e;
        done.countDown();
      }
      if (taken >= wanted) {
        done.countDown();
      }
    }

    @Override
    public void handleCancel(String tag) {
      cause = "RabbitMQ cancelled the consumer";
      done.countDown();
    }

    @Override
    public void handleShutdownSignal(String tag, ShutdownSignalException signal) {
      if (!signal.isInitiatedByApplication()) {
        cause = "RabbitMQ's channel was lost: " + Failures.words(signal);
      }
      done.countDown();
    }

    void rethrow() {
      if (failure != null) {
        throw failure;
      }
    }
  }
}
