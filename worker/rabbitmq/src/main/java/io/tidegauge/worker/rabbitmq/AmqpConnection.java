package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.ConnectionFactory;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Threads;
import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeoutException;

/**
 * An AMQP connection of one or more links, and the thread that runs the callbacks of its consumers.
 * Opened when first needed, and again once it has broken: on the next node if its own does not
 * answer.
 */
final class AmqpConnection {
  /** Opens a connection whose callbacks run on a thread. */
  interface Opener {
    com.rabbitmq.client.Connection open(ExecutorService deliveries)
        throws IOException, TimeoutException, DriverException;
  }

  private final String name;
  private final Opener opener;

  /** Begins with the first callback; a producer has none. */
  private final ExecutorService deliveries;

  private com.rabbitmq.client.Connection connection;
  private volatile Socket socket;

  /**
   * @param number which node to begin with
   */
  AmqpConnection(Connection settings, int number, String name) {
    this.name = name;
    this.opener =
        deliveries -> {
          ConnectionFactory factory = settings.factory();
          factory.setSocketConfigurator(
              factory.getSocketConfigurator().andThen(opened -> socket = opened));
          return factory.newConnection(deliveries, settings.addressesFrom(number), name);
        };
    this.deliveries = Executors.newSingleThreadExecutor(Threads.named("rabbitmq-" + name));
  }

  AmqpConnection(String name, Opener opener) {
    this.name = name;
    this.opener = opener;
    this.deliveries = Executors.newSingleThreadExecutor(Threads.named("rabbitmq-" + name));
  }

  synchronized com.rabbitmq.client.Connection opened()
      throws IOException, TimeoutException, DriverException {
    if (connection == null || !connection.isOpen()) {
      connection = opener.open(deliveries);
    }
    return connection;
  }

  /**
   * Ends the present connection; {@link #opened} makes another. A broker that blocks publishing
   * reads no farewell.
   */
  void closeWithin(int ms) {
    com.rabbitmq.client.Connection old;
    synchronized (this) {
      old = connection;
      connection = null;
    }
    if (old == null) {
      return;
    }
    within(ms, name, () -> old.abort(ms));
    Socket open = socket;
    if (open != null) {
      try {
        open.close();
      } catch (IOException e) {
        // It is closed then.
      }
    }
  }

  /** The same for good. */
  void end(int ms) {
    closeWithin(ms);
    deliveries.shutdownNow();
  }

  /** Says farewell for so long at most. */
  static void within(int ms, String name, Runnable saying) {
    Threads.awaitEnd(Threads.start("rabbitmq-close-" + name, saying), ms);
  }
}
