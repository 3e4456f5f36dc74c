package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.Channel;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.Reach;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeoutException;

/**
 * Connections to the nodes for declaring and deleting, opened when first needed. Used by one thread
 * at a time.
 */
final class AdminLink implements AutoCloseable {
  /** What is done on a channel. */
  interface Task {
    void on(Channel channel) throws IOException, DriverException;
  }

  private static final int CLOSE_MS_MAX = 2_000;

  private final Connection settings;
  private final Reach reach;
  private final Map<Integer, com.rabbitmq.client.Connection> byNode = new TreeMap<>();

  AdminLink(Connection settings) {
    this.settings = settings;
    this.reach = settings.reach();
  }

  int nodes() {
    return settings.uris().size();
  }

  /** Does something on a new channel to a node. {@code what} completes "RabbitMQ could not ...". */
  void run(int node, String what, Task task) throws DriverException {
    com.rabbitmq.client.Connection connection = connected(Math.floorMod(node, nodes()));
    try (Channel channel = connection.createChannel()) {
      task.on(channel);
    } catch (IOException | TimeoutException | RuntimeException e) {
      throw Failures.describe(what, e);
    }
  }

  /** The server's version as it said when the connection was made, "3.10.8". */
  String serverVersion() throws DriverException {
    return String.valueOf(connected(0).getServerProperties().get("version"));
  }

  Map<String, Object> serverProperties() throws DriverException {
    return connected(0).getServerProperties();
  }

  private com.rabbitmq.client.Connection connected(int node) throws DriverException {
    com.rabbitmq.client.Connection connection = byNode.get(node);
    if (connection != null && connection.isOpen()) {
      return connection;
    }
    if (settings.isSecured()) {
      // Without TLS the client fails at once by itself.
      reach.check(settings.servers());
    }
    try {
      connection = settings.factory().newConnection(settings.addressesFrom(node), "tg-admin");
      byNode.put(node, connection);
      return connection;
    } catch (IOException | TimeoutException | RuntimeException e) {
      throw settings.unreachable(e);
    }
  }

  @Override
  public void close() {
    byNode.values().forEach(connection -> connection.abort(CLOSE_MS_MAX));
    byNode.clear();
  }
}
