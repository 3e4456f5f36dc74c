package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.TopicSpec;
import java.util.List;
import java.util.Map;

/**
 * Finds topics that exist already: a queue or stream of the name, or what an earlier trial of
 * Tidegauge left, an exchange with a queue for each partition.
 */
final class ExistingTopics {
  private final Connection connection;
  private final Management management;
  private final QueueSearch search;

  ExistingTopics(Connection connection, AdminLink admin, Management management) {
    this.connection = connection;
    this.management = management;
    this.search = new QueueSearch(admin);
  }

  Topic open(String name) throws DriverException {
    if (search.exists(name)) {
      return Topic.existing(name, 1, settings(name, 1, name), true);
    }
    List<String> queues = search.queuesOf(name);
    if (queues.isEmpty()) {
      throw new DriverException(
          "RabbitMQ has neither a queue or stream "
              + name
              + " nor a queue "
              + Topology.queue(name, 0)
              + " as Tidegauge makes them");
    }
    TopicSettings settings = settings(name, queues.size(), Topology.queue(name, 0));
    return Topic.existing(name, queues.size(), settings, false);
  }

  /** What it is made of, as the management API says; else as the connection says. */
  private TopicSettings settings(String name, int partitions, String queue) throws DriverException {
    QueueType type = connection.queueType();
    if (management.isKnown()) {
      Object reported = management.queue(queue).get("type");
      type = reported == null ? type : QueueType.of(reported.toString());
    }
    return TopicSettings.of(new TopicSpec(name, partitions, 1, Map.of()), type);
  }
}
