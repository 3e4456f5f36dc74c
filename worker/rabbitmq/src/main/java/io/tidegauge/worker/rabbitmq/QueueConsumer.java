package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AlreadyClosedException;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import com.rabbitmq.client.ShutdownSignalException;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.drivers.SharedClients;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;

/**
 * Reads the queues of some partitions over a channel of its own, on its connection's thread,
 * acknowledging by hand, or not at all where the broker is asked to take what it sent as read.
 */
final class QueueConsumer implements PartitionedConsumer, AmqpLink.User {
  private static final long RETRY_MS = 500;

  private final ConsumerSpec spec;
  private final MessageSink sink;
  private final ConsumerOptions options;
  private final IntFunction<String> queueOf;
  private final ScheduledExecutorService keeper;
  private final AmqpLink link;
  private final AckRounds rounds;
  private final Runnable flush = this::flushAcks;
  private volatile GroupedAcks acks;
  private volatile boolean closing;

  /** Guarded by this, like what follows: consumer tags of the partitions being read. */
  private final Map<Integer, String> reading = new TreeMap<>();

  /** Partitions whose queues may not be there, since they could not be read, or not any longer. */
  private final Set<Integer> doubted = new TreeSet<>();

  private Channel channel;
  private List<Integer> assigned = List.of();
  private int prefetch;
  private boolean paused;
  private boolean retrying;

  /**
   * @param queueOf the name of the subscription's queue of a partition
   */
  QueueConsumer(
      Connection connection,
      ConsumerSpec spec,
      SharedClients.Hold<AmqpConnection> held,
      ConsumerOptions options,
      IntFunction<String> queueOf,
      MessageSink sink,
      ScheduledExecutorService keeper,
      AckRounds rounds) {
    this.spec = spec;
    this.sink = sink;
    this.options = options;
    this.queueOf = queueOf;
    this.keeper = keeper;
    this.paused = spec.startPaused();
    this.link = new AmqpLink(connection, held, spec.clientId(), keeper, this);
    this.rounds = rounds;
    rounds.join(options.ackIntervalMs(), flush);
  }

  void open() throws DriverException {
    try {
      link.open();
    } catch (DriverException e) {
      close();
      throw e;
    }
  }

  @Override
  public synchronized void opened(com.rabbitmq.client.Connection connection, Channel opened)
      throws IOException {
    reading.clear();
    channel = opened;
    acks = new GroupedAcks(opened);
    followAssignment();
  }

  @Override
  public void lost(ShutdownSignalException cause) {
    sink.error(new IOException("RabbitMQ's channel was lost: " + Failures.words(cause)));
  }

  @Override
  public synchronized void assign(List<Integer> partitions) throws DriverException {
    assigned = List.copyOf(partitions);
    try {
      followAssignment();
    } catch (IOException | RuntimeException e) {
      throw Failures.describe("consume " + spec.topic(), e);
    }
  }

  @Override
  public void pause() {
    setPaused(true);
  }

  @Override
  public void resume() {
    setPaused(false);
  }

  private synchronized void setPaused(boolean wanted) {
    paused = wanted;
    retryToFollow();
  }

  /**
   * Makes what is read what should be read. Cancelling leaves deliveries that are under way to be
   * processed.
   */
  private synchronized void followAssignment() throws IOException {
    if (channel == null) {
      return;
    }
    List<Integer> wanted = paused ? List.of() : assigned;
    int prefetchWanted = options.prefetchOf(assigned.size());
    for (Integer partition : List.copyOf(reading.keySet())) {
      // The prefetch in force when a consumer begins stays its own.
      if (!wanted.contains(partition) || prefetch != prefetchWanted) {
        channel.basicCancel(reading.remove(partition));
      }
    }
    prefetch = prefetchWanted;
    acks.every(options.ackEveryOf(prefetch));
    channel.basicQos(prefetch);
    for (Integer partition : wanted) {
      if (!reading.containsKey(partition)) {
        if (doubted.contains(partition) && !isQueueThere(partition)) {
          retryLater();
          continue;
        }
        reading.put(partition, consume(partition));
        doubted.remove(partition);
      }
    }
  }

  private String consume(int partition) throws IOException {
    try {
      return channel.basicConsume(
          queueOf.apply(partition),
          options.autoAck(),
          /* consumerTag= */ "",
          /* noLocal= */ false,
          spec.type() == SubscriptionType.EXCLUSIVE,
          Map.of(),
          new Reader(partition));
    } catch (IOException e) {
      doubted.add(partition);
      throw e;
    }
  }

  /**
   * Asked over a channel of its own: to consume a queue that is not there would end the one over
   * which all others are read, and what is under way there would come again.
   */
  private boolean isQueueThere(int partition) throws IOException {
    Channel asking = channel.getConnection().createChannel();
    if (asking == null) {
      return false;
    }
    try {
      asking.queueDeclarePassive(queueOf.apply(partition));
      return true;
    } catch (IOException e) {
      return false;
    } finally {
      asking.abort();
    }
  }

  private synchronized void retryToFollow() {
    if (closing) {
      return;
    }
    try {
      followAssignment();
    } catch (AlreadyClosedException e) {
      // The next channel follows by itself.
    } catch (IOException | RuntimeException e) {
      sink.error(
          new IOException("RabbitMQ could not deliver " + spec.topic() + ": " + Failures.words(e)));
    }
  }

  private synchronized void cancelledByBroker(int partition, GroupedAcks of) {
    if (closing || of != acks) {
      return;
    }
    reading.remove(partition);
    doubted.add(partition);
    sink.error(new IOException("RabbitMQ cancelled the consumer of " + queueOf.apply(partition)));
    retryLater();
  }

  private synchronized void retryLater() {
    if (retrying) {
      return;
    }
    retrying = true;
    try {
      keeper.schedule(this::retryNow, RETRY_MS, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      closing = true;
    }
  }

  private synchronized void retryNow() {
    retrying = false;
    retryToFollow();
  }

  private void flushAcks() {
    GroupedAcks current = acks;
    if (current != null) {
      try {
        current.flush();
      } catch (IOException | RuntimeException e) {
        sink.error(
            new IOException("RabbitMQ could not take an acknowledgement: " + Failures.words(e)));
      }
    }
  }

  @Override
  public boolean isClosed() {
    return closing;
  }

  @Override
  public void close() {
    closing = true;
    rounds.leave(options.ackIntervalMs(), flush);
    flushAcks();
    link.close();
  }

  /** Deliveries of one queue on one channel. */
  private final class Reader extends DefaultConsumer {
    private final int partition;
    private final GroupedAcks ofChannel = acks;

    Reader(int partition) {
      super(channel);
      this.partition = partition;
    }

    @Override
    public void handleDelivery(
        String tag, Envelope envelope, AMQP.BasicProperties properties, byte[] body)
        throws IOException {
      sink.received(spec.topicIndex(), partition, body, 0, body.length, System.nanoTime());
      if (!options.autoAck()) {
        ofChannel.processed(envelope.getDeliveryTag());
      }
    }

    @Override
    public void handleCancel(String tag) {
      cancelledByBroker(partition, ofChannel);
    }
  }
}
