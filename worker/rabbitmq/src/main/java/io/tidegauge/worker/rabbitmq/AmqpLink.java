package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.ShutdownSignalException;
import io.tidegauge.worker.api.DriverException;
import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * One AMQP connection with one channel for one producer or consumer, opened again when it breaks:
 * on the next node if its own does not answer.
 */
final class AmqpLink implements AutoCloseable {
  /** What uses the channel. */
  interface User {
    /**
     * A channel is open. Called before {@link #open} returns and again after each {@link #lost}.
     */
    void opened(com.rabbitmq.client.Connection connection, Channel channel) throws IOException;

    /** The channel is gone, not by our doing; nothing that waits on it will be answered. */
    void lost(ShutdownSignalException cause);
  }

  private static final long REOPEN_MS_MIN = 100;
  private static final long REOPEN_MS_MAX = 1_000;
  private static final int CLOSE_MS_MAX = 2_000;

  private final Connection settings;
  private final int number;
  private final String clientId;
  private final ExecutorService deliveries;
  private final ScheduledExecutorService keeper;
  private final User user;
  private volatile com.rabbitmq.client.Connection connection;
  private volatile Socket socket;
  private volatile boolean closing;
  private long reopenMs = REOPEN_MS_MIN;

  /**
   * @param number which node to begin with
   * @param deliveries runs the consumer's callbacks; null for a producer, which has none
   * @param keeper opens the connection again
   */
  AmqpLink(
      Connection settings,
      int number,
      String clientId,
      ExecutorService deliveries,
      ScheduledExecutorService keeper,
      User user) {
    this.settings = settings;
    this.number = number;
    this.clientId = clientId;
    this.deliveries = deliveries;
    this.keeper = keeper;
    this.user = user;
  }

  void open() throws DriverException {
    try {
      connect();
    } catch (IOException | TimeoutException | RuntimeException e) {
      closeWithin(CLOSE_MS_MAX);
      throw settings.unreachable(e);
    }
  }

  private synchronized void connect() throws IOException, TimeoutException, DriverException {
    if (closing) {
      return;
    }
    ConnectionFactory factory = settings.factory();
    factory.setSocketConfigurator(
        factory.getSocketConfigurator().andThen(opened -> socket = opened));
    com.rabbitmq.client.Connection opened =
        factory.newConnection(deliveries, settings.addressesFrom(number), clientId);
    connection = opened;
    Channel channel = opened.createChannel();
    if (channel == null) {
      throw new IOException("no channel is left on the connection");
    }
    channel.addShutdownListener(this::channelClosed);
    user.opened(opened, channel);
    reopenMs = REOPEN_MS_MIN;
  }

  private void channelClosed(ShutdownSignalException cause) {
    if (closing || cause.isInitiatedByApplication()) {
      return;
    }
    user.lost(cause);
    reopenLater();
  }

  private void reopenLater() {
    try {
      keeper.schedule(this::reopen, reopenMs, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      closing = true;
    }
  }

  private void reopen() {
    closeWithin(CLOSE_MS_MAX);
    if (closing) {
      return;
    }
    try {
      connect();
    } catch (IOException | TimeoutException | DriverException | RuntimeException e) {
      reopenMs = Math.min(REOPEN_MS_MAX, 2 * reopenMs);
      reopenLater();
    }
  }

  /**
   * Ends the present connection; the user is told nothing. A broker that blocks publishing reads no
   * farewell.
   */
  private void closeWithin(int ms) {
    com.rabbitmq.client.Connection old = connection;
    connection = null;
    if (old == null) {
      return;
    }
    Thread farewell = new Thread(() -> old.abort(ms), "rabbitmq-close-" + clientId);
    farewell.setDaemon(true);
    farewell.start();
    try {
      farewell.join(ms);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Socket open = socket;
    if (open != null) {
      try {
        open.close();
      } catch (IOException e) {
        // It is closed then.
      }
    }
  }

  @Override
  public void close() {
    closing = true;
    closeWithin(CLOSE_MS_MAX);
  }
}
