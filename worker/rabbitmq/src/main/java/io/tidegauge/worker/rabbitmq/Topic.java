package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.DriverException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** What a driver knows about a topic: its layout, and the consumers of its subscriptions. */
final class Topic {
  final String name;
  final int partitions;
  final TopicSettings settings;

  /**
   * In the order in which they came. The first one reads the queues that the topic was created
   * with.
   */
  private final Map<String, List<PartitionedConsumer>> membersBySubscription =
      new LinkedHashMap<>();

  Topic(String name, int partitions, TopicSettings settings) {
    this.name = name;
    this.partitions = partitions;
    this.settings = settings;
  }

  boolean isKnown(String subscription) {
    return membersBySubscription.containsKey(subscription);
  }

  /** Adds a subscription. True if it needs queues of its own. */
  boolean subscribe(String subscription) {
    boolean first = membersBySubscription.isEmpty();
    membersBySubscription.putIfAbsent(subscription, new ArrayList<>());
    return !first && settings.type() != QueueType.STREAM;
  }

  String queueOf(int partition, String subscription) {
    boolean first = subscription.equals(membersBySubscription.keySet().iterator().next());
    return first || settings.type() == QueueType.STREAM
        ? Topology.queue(name, partition)
        : Topology.queue(name, partition, subscription);
  }

  /** Adds a consumer to a subscription and shares its partitions out anew. */
  void join(String subscription, PartitionedConsumer consumer) throws DriverException {
    List<PartitionedConsumer> members = membersBySubscription.get(subscription);
    members.removeIf(PartitionedConsumer::isClosed);
    members.add(consumer);
    for (int member = 0; member < members.size(); member++) {
      members.get(member).assign(PartitionChooser.shareOf(member, members.size(), partitions));
    }
  }

  int members(String subscription) {
    return membersBySubscription.get(subscription).size();
  }

  Set<String> queues() {
    Set<String> names = new TreeSet<>();
    for (int partition = 0; partition < partitions; partition++) {
      names.add(Topology.queue(name, partition));
      for (String subscription : membersBySubscription.keySet()) {
        names.add(queueOf(partition, subscription));
      }
    }
    return names;
  }
}
