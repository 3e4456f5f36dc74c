package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Place;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.drivers.PartitionChooser;
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

  /** Whether others made it and keep it. */
  final boolean existing;

  /** Whether it is but a queue or stream of its name, as others make them, with no exchange. */
  final boolean bare;

  /**
   * In the order in which they came. The first one reads the queues that the topic was created
   * with.
   */
  private final Map<String, List<PartitionedConsumer>> membersBySubscription =
      new LinkedHashMap<>();

  Topic(String name, int partitions, TopicSettings settings) {
    this(name, partitions, settings, false, false);
  }

  private Topic(
      String name, int partitions, TopicSettings settings, boolean existing, boolean bare) {
    this.name = name;
    this.partitions = partitions;
    this.settings = settings;
    this.existing = existing;
    this.bare = bare;
  }

  /** A topic of others. */
  static Topic existing(String name, int partitions, TopicSettings settings, boolean bare) {
    return new Topic(name, partitions, settings, true, bare);
  }

  /** The exchange that producers publish to; empty for the default one, which knows queues. */
  String exchange() {
    return bare ? "" : name;
  }

  String routingKey(int partition) {
    return bare ? name : Integer.toString(partition);
  }

  /** The queue that the topic was created with, or the stream. */
  String queue(int partition) {
    return bare ? name : Topology.queue(name, partition);
  }

  boolean isKnown(String subscription) {
    return membersBySubscription.containsKey(subscription);
  }

  /**
   * Adds a subscription. True if it needs queues of its own.
   *
   * @throws DriverException if it is the second one of a queue of others
   */
  boolean subscribe(String subscription) throws DriverException {
    boolean first = membersBySubscription.isEmpty();
    if (existing && !first && settings.type() != QueueType.STREAM) {
      throw new DriverException(
          "RabbitMQ's queue "
              + name
              + " exists already and delivers each message once: it can have one subscription");
    }
    membersBySubscription.putIfAbsent(subscription, new ArrayList<>());
    return !first && settings.type() != QueueType.STREAM;
  }

  String queueOf(int partition, String subscription) {
    boolean first = subscription.equals(membersBySubscription.keySet().iterator().next());
    return first || settings.type() == QueueType.STREAM
        ? queue(partition)
        : Topology.queue(name, partition, subscription);
  }

  /** Whether a known subscription has queues besides those that the topic was created with. */
  boolean hasOwnQueues(String subscription) {
    return !queueOf(0, subscription).equals(queue(0));
  }

  /**
   * Adds a consumer to a subscription and, where one reads each partition, shares them out anew.
   *
   * @param place among the consumers of all workers; null if all of them join here
   */
  void join(String subscription, PartitionedConsumer consumer, SubscriptionType type, Place place)
      throws DriverException {
    List<PartitionedConsumer> members = membersBySubscription.get(subscription);
    members.removeIf(PartitionedConsumer::isClosed);
    members.add(consumer);
    if (type == SubscriptionType.SHARED || type == SubscriptionType.FAILOVER) {
      // The broker decides who receives.
      consumer.assign(PartitionChooser.shareOf(0, 1, partitions));
      return;
    }
    if (place != null) {
      consumer.assign(PartitionChooser.shareOf(place.member(), place.members(), partitions));
      return;
    }
    for (int member = 0; member < members.size(); member++) {
      members.get(member).assign(PartitionChooser.shareOf(member, members.size(), partitions));
    }
  }

  Set<String> queues() {
    Set<String> names = new TreeSet<>();
    for (int partition = 0; partition < partitions; partition++) {
      names.add(queue(partition));
      for (String subscription : membersBySubscription.keySet()) {
        names.add(queueOf(partition, subscription));
      }
    }
    return names;
  }
}
