package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.BlockedListener;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConfirmListener;
import com.rabbitmq.client.ShutdownSignalException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.drivers.PartitionChooser;
import io.tidegauge.worker.drivers.SharedClients;
import java.io.IOException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * Publishes to a topic's exchange over a channel of its own, with asynchronous publisher confirms.
 *
 * <p>AMQP has no batches: each message is a command of its own, written to the socket before {@link
 * #send} returns.
 */
final class QueueProducer implements MessageProducer, AmqpLink.User {
  /** A channel with the messages that wait for its confirms. */
  private record ConfirmedChannel(Channel channel, ConfirmRing ring) {}

  /**
   * A message that finds the connection broken waits this long for a new one, since this client
   * holds nothing back.
   */
  private static final long RECONNECT_MS_MAX = 10_000;

  /**
   * How long a message waits for a broker that blocks publishing (memory or disk alarm) to relent.
   */
  private static final long BLOCKED_MS_MAX = 1_000;

  private final String exchange;
  private final String[] routingKeys;
  private final PartitionChooser chooser;
  private final AMQP.BasicProperties properties;
  private final boolean mandatory;
  private final int inFlightMessagesMax;
  private final int outcomeTimeoutMs;
  private final ScheduledExecutorService keeper;
  private final AmqpLink link;
  private final Object changed = new Object();
  private volatile ConfirmedChannel confirmedChannel;
  private volatile String blocked;
  private volatile String lost = "";
  private volatile boolean closing;
  private volatile ScheduledFuture<?> givingUp;

  /** The channel at the last look and the newest message on it; the keeper's own. */
  private ConfirmedChannel seen;

  private long seenNewest;

  QueueProducer(
      Connection connection,
      Topic topic,
      ProducerSpec spec,
      SharedClients.Hold<AmqpConnection> held,
      int number,
      ProducerOptions options,
      ScheduledExecutorService keeper) {
    this.exchange = topic.exchange();
    this.routingKeys = new String[spec.partitions()];
    for (int partition = 0; partition < spec.partitions(); partition++) {
      routingKeys[partition] = topic.routingKey(partition);
    }
    this.chooser = new PartitionChooser(spec.partitions(), number);
    int mode = topic.settings.persistent() ? 2 : 1;
    this.properties = new AMQP.BasicProperties.Builder().deliveryMode(mode).build();
    this.mandatory = options.mandatory();
    this.inFlightMessagesMax = spec.options().inFlightMessagesMax();
    this.outcomeTimeoutMs = spec.options().outcomeTimeoutMs();
    this.keeper = keeper;
    this.link = new AmqpLink(connection, held, spec.clientId(), keeper, this);
  }

  void open() throws DriverException {
    link.open();
    if (outcomeTimeoutMs > 0) {
      givingUp =
          keeper.scheduleWithFixedDelay(
              this::giveUpOld, outcomeTimeoutMs, outcomeTimeoutMs, TimeUnit.MILLISECONDS);
    }
  }

  /**
   * The client has no time limit for confirms: what was published before the last look, and has
   * none yet, is given up. So a message waits at most twice as long.
   */
  private void giveUpOld() {
    ConfirmedChannel current = confirmedChannel;
    if (current != null && current == seen) {
      current
          .ring()
          .failed(
              seenNewest,
              true,
              new IOException("no confirm came within " + outcomeTimeoutMs + " ms"));
    }
    seen = current;
    seenNewest = current == null ? 0 : current.ring().newest();
  }

  @Override
  public void opened(com.rabbitmq.client.Connection connection, Channel channel)
      throws IOException {
    ConfirmRing ring = new ConfirmRing(inFlightMessagesMax);
    connection.addBlockedListener(
        new BlockedListener() {
          @Override
          public void handleBlocked(String reason) {
            setBlocked(reason == null ? "" : reason);
          }

          @Override
          public void handleUnblocked() {
            setBlocked(null);
          }
        });
    channel.addConfirmListener(
        new ConfirmListener() {
          @Override
          public void handleAck(long number, boolean multiple) {
            ring.acked(number, multiple);
          }

          @Override
          public void handleNack(long number, boolean multiple) {
            ring.failed(
                number, multiple, new IOException("RabbitMQ refused the message (basic.nack)"));
          }
        });
    channel.confirmSelect();
    synchronized (changed) {
      blocked = null;
      confirmedChannel = new ConfirmedChannel(channel, ring);
      changed.notifyAll();
    }
  }

  @Override
  public void lost(ShutdownSignalException cause) {
    lost = Failures.words(cause);
    ConfirmedChannel gone = confirmedChannel;
    confirmedChannel = null;
    if (gone != null) {
      gone.ring()
          .failAll(new IOException("RabbitMQ's channel was lost before the confirm came: " + lost));
    }
  }

  private void setBlocked(String reason) {
    synchronized (changed) {
      blocked = reason;
      changed.notifyAll();
    }
  }

  @Override
  public void send(InFlight message) {
    ConfirmedChannel current = confirmedChannel;
    if (current == null || blocked != null) {
      current = awaitUsable(message);
      if (current == null) {
        return;
      }
    }
    int partition = chooser.partitionOf(message.key());
    String routingKey = routingKeys[partition];
    message.at(partition, -1);
    long number = current.ring().add(message);
    try {
      current.channel().basicPublish(exchange, routingKey, mandatory, properties, message.value());
    } catch (IOException | RuntimeException e) {
      if (current.ring().remove(number)) {
        message.failed(new IOException("RabbitMQ could not take a message: " + Failures.words(e)));
      }
    }
  }

  /**
   * Waits until there is a channel that takes messages; null if there was none in time and the
   * message has failed.
   */
  private ConfirmedChannel awaitUsable(InFlight message) {
    long beganNs = System.nanoTime();
    synchronized (changed) {
      while (!closing) {
        ConfirmedChannel current = confirmedChannel;
        String reason = blocked;
        if (current != null && reason == null) {
          return current;
        }
        long mostMs = current == null ? reconnectMsMax(outcomeTimeoutMs) : BLOCKED_MS_MAX;
        long leftMs = leftMs(mostMs, System.nanoTime() - beganNs);
        if (leftMs <= 0 || !waitForChange(leftMs)) {
          break;
        }
      }
    }
    String reason = blocked;
    message.refused(
        new IOException(
            reason == null
                ? "RabbitMQ's connection is lost: " + lost
                : "RabbitMQ blocks publishing: " + reason));
    return null;
  }

  static long leftMs(long mostMs, long waitedNs) {
    return mostMs - waitedNs / 1_000_000;
  }

  static long reconnectMsMax(int outcomeTimeoutMs) {
    return outcomeTimeoutMs > 0 ? Math.min(outcomeTimeoutMs, RECONNECT_MS_MAX) : RECONNECT_MS_MAX;
  }

  private boolean waitForChange(long ms) {
    try {
      changed.wait(ms);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Nothing to do: nothing is held back. */
  @Override
  public void flush() {}

  @Override
  public void close() {
    synchronized (changed) {
      closing = true;
      changed.notifyAll();
    }
    ScheduledFuture<?> looking = givingUp;
    if (looking != null) {
      looking.cancel(false);
    }
    link.close();
    ConfirmedChannel gone = confirmedChannel;
    if (gone != null) {
      gone.ring().failAll(new IOException("the producer was closed before the confirm came"));
    }
  }
}
