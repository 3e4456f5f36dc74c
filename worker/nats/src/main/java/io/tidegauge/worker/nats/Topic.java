package io.tidegauge.worker.nats;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Place;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.drivers.PartitionChooser;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What a driver knows about a topic: its streams, one for each partition, and the consumers of its
 * subscriptions. NATS shares no partitions out: users do it in their applications, here the driver
 * does.
 */
final class Topic {
  final String name;
  final int partitions;

  /** Of a stream of others, where messages to it are published; null for streams of ours. */
  private final String subject;

  private final Map<String, List<PullConsumer>> membersBySubscription = new HashMap<>();

  Topic(String name, int partitions) {
    this(name, partitions, null);
  }

  /** {@code subject}: where others publish to their stream of that name. */
  Topic(String name, int partitions, String subject) {
    this.name = name;
    this.partitions = partitions;
    this.subject = subject;
  }

  String stream(int partition) {
    return subject == null ? stream(name, partition) : name;
  }

  String subject(int partition) {
    return subject == null ? stream(partition) : subject;
  }

  /** A stream's name has no dots, stars, blanks or slashes. */
  static String stream(String topic, int partition) {
    return safe(topic) + "-" + partition;
  }

  static String safe(String name) {
    return name.replaceAll("[.*>\\\\/\\s]", "_");
  }

  /**
   * Adds a consumer to a subscription and, where one reads each partition, shares them out anew.
   *
   * @param place among the consumers of all workers; null if all of them join here
   */
  void join(String subscription, PullConsumer consumer, SubscriptionType type, Place place)
      throws DriverException {
    List<PullConsumer> members =
        membersBySubscription.computeIfAbsent(subscription, name -> new ArrayList<>());
    members.removeIf(PullConsumer::isClosed);
    members.add(consumer);
    if (type != SubscriptionType.BY_PARTITION) {
      // The servers decide who receives.
      consumer.assign(PartitionChooser.shareOf(0, 1, partitions));
    } else if (place != null) {
      consumer.assign(PartitionChooser.shareOf(place.member(), place.members(), partitions));
    } else {
      for (int member = 0; member < members.size(); member++) {
        members.get(member).assign(PartitionChooser.shareOf(member, members.size(), partitions));
      }
    }
  }
}
