package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ShutdownSignalException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.SharedClients;
import java.io.IOException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * One channel for one producer or consumer, on a connection of its own or one that it shares;
 * opened again when it breaks.
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
  private final SharedClients.Hold<AmqpConnection> held;
  private final String clientId;
  private final ScheduledExecutorService keeper;
  private final User user;
  private volatile Channel channel;
  private volatile boolean closing;
  private long reopenMs = REOPEN_MS_MIN;

  /**
   * @param keeper opens the channel again
   */
  AmqpLink(
      Connection settings,
      SharedClients.Hold<AmqpConnection> held,
      String clientId,
      ScheduledExecutorService keeper,
      User user) {
    this.settings = settings;
    this.held = held;
    this.clientId = clientId;
    this.keeper = keeper;
    this.user = user;
  }

  void open() throws DriverException {
    try {
      connect();
    } catch (IOException | TimeoutException | RuntimeException e) {
      close();
      throw settings.unreachable(e);
    }
  }

  private synchronized void connect() throws IOException, TimeoutException, DriverException {
    if (closing) {
      return;
    }
    com.rabbitmq.client.Connection opened = held.client().opened();
    Channel made = opened.createChannel();
    if (made == null) {
      throw new IOException("no channel is left on the connection");
    }
    channel = made;
    made.addShutdownListener(this::channelClosed);
    user.opened(opened, made);
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
    leave();
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

  /** Ends the present channel, and the connection unless others use it. Its user is not called. */
  private void leave() {
    Channel old = channel;
    channel = null;
    if (held.isAlone()) {
      held.client().closeWithin(CLOSE_MS_MAX);
    } else if (old != null && old.isOpen()) {
      AmqpConnection.within(CLOSE_MS_MAX, clientId, () -> abort(old));
    }
  }

  private static void abort(Channel old) {
    try {
      old.abort();
    } catch (IOException | RuntimeException e) {
      // It is closed then.
    }
  }

  @Override
  public void close() {
    closing = true;
    leave();
    if (held.release()) {
      held.client().end(CLOSE_MS_MAX);
    }
  }
}
