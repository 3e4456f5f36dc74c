package io.tidegauge.worker.api;

/**
 * A consumer to create, one of possibly several that share the subscription (Kafka: the group).
 *
 * @param type how the subscription's consumers share its messages
 * @param fromEnd whether a new subscription begins after the newest message instead of at the
 *     oldest
 * @param place among the clients of all workers; null if this driver makes them all
 */
public record ConsumerSpec(
    String topic,
    int topicIndex,
    int partitions,
    String subscription,
    String clientId,
    boolean startPaused,
    ClientOptions options,
    SubscriptionType type,
    boolean fromEnd,
    Place place) {

  /** A consumer that reads its partitions from the beginning. */
  public ConsumerSpec(
      String topic,
      int topicIndex,
      int partitions,
      String subscription,
      String clientId,
      boolean startPaused,
      ClientOptions options) {
    this(
        topic,
        topicIndex,
        partitions,
        subscription,
        clientId,
        startPaused,
        options,
        SubscriptionType.BY_PARTITION,
        false,
        null);
  }
}
