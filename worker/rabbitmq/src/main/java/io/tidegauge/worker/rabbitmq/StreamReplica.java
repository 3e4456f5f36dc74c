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
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Reads the copy of one stream that a node has, from its first offset. A consumer by AMQP 0-9-1 is
 * given the copy of the node that it is connected to, or is refused (rabbit_stream_queue); the
 * client of the stream protocol chooses the node itself.
 *
 * <p>The server hands out all that the copy has, as far as the consumer's credit goes, before it
 * looks at the consumer's next wish. So once the last message known is there, what has come when
 * the consumer's end is confirmed is all that there is.
 */
final class StreamReplica {
  private static final String OFFSET = "x-stream-offset";

  /** A consumer's credit; every quarter of it is given back at once. */
  private static final int PREFETCH = 8_000;

  private static final long POLL_MS = 20;
  private static final long RETRY_MS = 200;

  private final ReadBackSpec spec;
  private final int partition;
  private final String stream;
  private final ReadBackSink sink;
  private final long last;

  // Written by the one thread that delivers.
  private volatile long messages;
  private volatile long reached = -1;
  private volatile long newestNs = System.nanoTime();
  private volatile String first = "";
  private volatile RuntimeException failure;

  StreamReplica(ReadBackSpec spec, int partition, ReadBackSink sink) {
    this.spec = spec;
    this.partition = partition;
    this.stream = Topology.queue(spec.topic(), partition);
    this.sink = sink;
    this.last = spec.lastOf(partition);
  }

  PartitionRead read(com.rabbitmq.client.Connection connection) throws InterruptedException {
    String why = "";
    do {
      try {
        Channel channel = connection.createChannel();
        try {
          why = consume(channel);
        } finally {
          channel.abort();
        }
      } catch (IOException | ShutdownSignalException e) {
        // A node that has just started refuses until its copy is open.
        why = Failures.words(e);
      }
      if (failure != null) {
        throw failure;
      }
      if (why.isEmpty() || messages > 0 || !connection.isOpen()) {
        break;
      }
      Thread.sleep(RETRY_MS);
    } while (spec.leftMs() > 0);
    String end = reached < 0 ? "" : "offset " + reached;
    return new PartitionRead(
        spec.topicIndex(), partition, messages, why.isEmpty(), why, first, end);
  }

  /** Why not all was read; "" if it was. */
  private String consume(Channel channel) throws IOException, InterruptedException {
    channel.basicQos(PREFETCH);
    newestNs = System.nanoTime();
    Messages consumer = new Messages(channel);
    String tag = channel.basicConsume(stream, false, Map.of(OFFSET, "first"), consumer);
    while (!isShown() && consumer.lost.isEmpty() && failure == null) {
      if (spec.leftMs() == 0) {
        return "not read to its end in time";
      }
      Thread.sleep(POLL_MS);
    }
    if (!consumer.lost.isEmpty()) {
      return consumer.lost;
    }
    channel.basicCancel(tag);
    boolean ended = consumer.ended.await(spec.leftMs(), TimeUnit.MILLISECONDS);
    return consumer.lost.isEmpty() && !ended ? "its end was not confirmed in time" : consumer.lost;
  }

  /** Whether the last message known has come, or nothing has for so long that it will not. */
  private boolean isShown() {
    boolean silent =
        System.nanoTime() - newestNs > TimeUnit.MILLISECONDS.toNanos(ReadBackSpec.BEHIND_MS);
    return silent || last >= 0 && reached >= last;
  }

  private final class Messages extends DefaultConsumer {
    final CountDownLatch ended = new CountDownLatch(1);

    /** Why the server took it off the stream; its successor begins without that. */
    volatile String lost = "";

    private int unsettled;

    Messages(Channel channel) {
      super(channel);
    }

    // Written by one thread only.
    @SuppressWarnings("NonAtomicVolatileUpdate")
    @Override
    public void handleDelivery(
        String tag, Envelope envelope, AMQP.BasicProperties properties, byte[] body)
        throws IOException {
      if (failure != null) {
        return;
      }
      Object offset = properties.getHeaders().get(OFFSET);
      long at = ((Number) offset).longValue();
      try {
        sink.found(spec.topicIndex(), partition, at, 0, body);
      } catch (RuntimeException e) {
        failure = e;
        return;
      }
      first = messages == 0 ? "offset " + at : first;
      messages++;
      newestNs = System.nanoTime();
      // Credit given back makes the server look for more, up to the end of the copy.
      if (++unsettled >= PREFETCH / 4 || at >= last) {
        getChannel().basicAck(envelope.getDeliveryTag(), /* multiple= */ true);
        unsettled = 0;
      }
      reached = at;
    }

    @Override
    public void handleCancelOk(String tag) {
      ended.countDown();
    }

    @Override
    public void handleCancel(String tag) {
      lost = "RabbitMQ cancelled the consumer";
      ended.countDown();
    }

    @Override
    public void handleShutdownSignal(String tag, ShutdownSignalException signal) {
      if (!signal.isInitiatedByApplication()) {
        lost = "RabbitMQ's channel was lost: " + Failures.words(signal);
      }
      ended.countDown();
    }
  }
}
