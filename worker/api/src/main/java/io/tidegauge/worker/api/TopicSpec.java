package io.tidegauge.worker.api;

import java.util.Map;

/**
 * A topic to create.
 *
 * @param replicationFactor copies; 0 = as many as the cluster gives a topic of which nobody says
 *     it, and no setting beside those given
 * @param settings topic-level settings in the system's own words (Kafka: flush.messages)
 * @param type how subscriptions will share its messages, where a topic must be made for that
 */
public record TopicSpec(
    String name,
    int partitions,
    int replicationFactor,
    Map<String, String> settings,
    SubscriptionType type) {

  /** A topic for the usual subscriptions. */
  public TopicSpec(
      String name, int partitions, int replicationFactor, Map<String, String> settings) {
    this(name, partitions, replicationFactor, settings, SubscriptionType.BY_PARTITION);
  }

  /** Whether the cluster decides how many copies there are. */
  public boolean copiesOfCluster() {
    return replicationFactor == 0;
  }
}
