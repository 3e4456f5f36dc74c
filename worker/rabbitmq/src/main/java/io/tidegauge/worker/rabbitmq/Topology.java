package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.Address;
import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.Channel;
import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.drivers.Json;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * A topic in RabbitMQ's terms: a durable direct exchange of its name; for each partition a queue,
 * bound with the partition's number as routing key. Further subscriptions have queues of their own,
 * bound alike, so each gets a copy of every message. Of streams there is one for each partition,
 * laid out as a super stream; all subscriptions read it.
 *
 * <p>A queue's leader is on the node where it is declared, so declaring by turns, of all topics and
 * subscriptions, spreads leaders over the nodes.
 */
final class Topology {
  /**
   * Records how producers mark the topic's messages, for whoever reads the topic back. The server
   * only keeps it.
   */
  static final String DELIVERY_MODE = "x-tidegauge-delivery-mode";

  private static final String POLICY_PREFIX = "tidegauge-";
  private static final long POLL_MS = 100;
  private static final int CONNECT_MS_MAX = 2_000;

  private final Connection connection;
  private final AdminLink admin;
  private final Management management;
  private int nextNode;

  Topology(Connection connection, AdminLink admin, Management management) {
    this.connection = connection;
    this.admin = admin;
    this.management = management;
  }

  /** The queue of a partition that the first subscription reads, or the partition's stream. */
  static String queue(String topic, int partition) {
    return topic + "." + partition;
  }

  /** The queue of a partition for a further subscription; empty for the first one. */
  static String queue(String topic, int partition, String subscription) {
    String first = queue(topic, partition);
    return subscription.isEmpty() ? first : first + "@" + subscription;
  }

  /**
   * Fails until as many nodes are running as the connection says there must be, and each of those
   * it names takes clients: a node counts as running a little before it does, and what is meant for
   * it would go to another one.
   */
  void requireNodes() throws DriverException {
    if (connection.nodes() <= 1) {
      return;
    }
    if (management.isKnown()) {
      long running =
          management.nodes().stream()
              .filter(node -> Boolean.TRUE.equals(node.get("running")))
              .count();
      if (running < connection.nodes()) {
        throw new DriverException(
            "RabbitMQ has " + running + " of " + connection.nodes() + " nodes running");
      }
    }
    for (Address address : connection.addressesFrom(0)) {
      try (Socket socket = new Socket()) {
        socket.connect(new InetSocketAddress(address.getHost(), address.getPort()), CONNECT_MS_MAX);
      } catch (IOException e) {
        throw Failures.describe("be reached at " + address, e);
      }
    }
  }

  void create(TopicSpec spec, TopicSettings settings) throws DriverException {
    if (settings.type() == QueueType.MIRRORED) {
      mirror(spec.name(), settings);
    }
    Map<String, Object> arguments = new HashMap<>();
    arguments.put(DELIVERY_MODE, settings.persistent() ? 2 : 1);
    if (settings.type() == QueueType.STREAM) {
      arguments.put("x-super-stream", true);
    }
    admin.run(
        0,
        "create exchange " + spec.name(),
        channel ->
            channel.exchangeDeclare(
                spec.name(), BuiltinExchangeType.DIRECT, true, false, arguments));
    declareQueues(spec.name(), spec.partitions(), "", settings);
  }

  /** The next queue declared is led by this node, counted round and round. */
  void turnTo(long node) {
    nextNode = (int) (node % admin.nodes());
  }

  /**
   * Declares and binds a queue for each partition; {@code subscription} is empty for the first one.
   */
  void declareQueues(String topic, int partitions, String subscription, TopicSettings settings)
      throws DriverException {
    for (int first = 0; first < Math.min(admin.nodes(), partitions); first++) {
      int from = first;
      admin.run(
          nextNode + first,
          "create the queues of " + topic,
          channel -> {
            for (int partition = from; partition < partitions; partition += admin.nodes()) {
              String name = queue(topic, partition, subscription);
              declare(channel, topic, partition, name, settings);
            }
          });
    }
    nextNode = (nextNode + partitions) % admin.nodes();
    if (settings.members() != 1 && management.isKnown()) {
      for (int partition = 0; partition < partitions; partition++) {
        awaitCopies(queue(topic, partition, subscription), settings);
      }
    }
  }

  private static void declare(
      Channel channel, String topic, int partition, String name, TopicSettings settings)
      throws IOException {
    channel.queueDeclare(name, true, false, false, settings.queueArguments());
    Map<String, Object> order =
        settings.type() == QueueType.STREAM
            ? Map.of("x-stream-partition-order", partition)
            : Map.of();
    channel.queueBind(name, topic, Integer.toString(partition), order);
  }

  /** A policy gives the topic's queues their mirrors: queue arguments can't. */
  private void mirror(String topic, TopicSettings settings) throws DriverException {
    if (!admin.serverVersion().startsWith("3.")) {
      throw new DriverException(
          "RabbitMQ "
              + admin.serverVersion()
              + " has no mirrored queues (3.x had them): use quorum");
    }
    if (!management.isKnown()) {
      throw new DriverException(
          "RabbitMQ's mirrored queues need the connection setting managementUrl");
    }
    Map<String, Object> definition = new TreeMap<>();
    definition.put("ha-mode", "exactly");
    definition.put("ha-params", settings.members());
    definition.put("ha-sync-mode", "automatic");
    Map<String, Object> policy = new TreeMap<>();
    policy.put(
        "pattern", "^" + topic.replaceAll("([^A-Za-z0-9_-])", "\\\\$1") + "\\.[0-9]+(@.*)?$");
    policy.put("definition", definition);
    policy.put("apply-to", "queues");
    policy.put("priority", 100);
    management.putPolicy(POLICY_PREFIX + topic, policy);
  }

  /** Waits until all copies of a queue take part. */
  private void awaitCopies(String queue, TopicSettings settings) throws DriverException {
    long untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(connection.timeoutMs());
    while (true) {
      Map<String, Object> found = management.queue(queue);
      boolean mirrored = settings.type() == QueueType.MIRRORED;
      int wanted = mirrored ? settings.members() - 1 : Json.list(found.get("members")).size();
      int taking = Json.list(found.get(mirrored ? "synchronised_slave_nodes" : "online")).size();
      if (wanted > 0 && taking >= wanted) {
        return;
      }
      if (System.nanoTime() > untilNs) {
        throw new DriverException(
            "RabbitMQ has "
                + taking
                + " of "
                + wanted
                + (mirrored ? " mirrors" : " members")
                + " of "
                + queue
                + " online after "
                + connection.timeoutMs()
                + " ms");
      }
      Failures.pause(POLL_MS, "create the copies of " + queue);
    }
  }

  /**
   * Deletes a topic's queues and its exchange. {@code known} are queues that were made here; others
   * are looked up.
   *
   * @throws DriverException if queues of other subscriptions are left, which only the management
   *     API could have named
   */
  void delete(String topic, Collection<String> known) throws DriverException {
    Set<String> queues = new LinkedHashSet<>(known);
    boolean all = findBound(topic, queues);
    if (!all && known.isEmpty()) {
      queues.addAll(new QueueSearch(admin).queuesOf(topic));
    }
    admin.run(
        0,
        "delete topic " + topic,
        channel -> {
          for (String queue : queues) {
            channel.queueDelete(queue);
          }
        });
    // Refused while queues are bound that we know nothing of.
    admin.run(
        0,
        "delete exchange "
            + topic
            + " (queues may be bound to it that only managementUrl can name)",
        channel -> channel.exchangeDelete(topic, /* ifUnused= */ !all));
    deletePolicy(topic);
  }

  /** Adds the queues that are bound to the topic's exchange. False if we can't know them. */
  private boolean findBound(String topic, Set<String> queues) throws DriverException {
    if (!management.isKnown()) {
      return false;
    }
    try {
      queues.addAll(management.queuesOf(topic));
      return true;
    } catch (AccessException e) {
      return false;
    }
  }

  private void deletePolicy(String topic) throws DriverException {
    if (management.isKnown() && admin.serverVersion().startsWith("3.")) {
      try {
        management.deletePolicy(POLICY_PREFIX + topic);
      } catch (AccessException e) {
        // Whoever may not delete it could not have made it.
      }
    }
  }
}
