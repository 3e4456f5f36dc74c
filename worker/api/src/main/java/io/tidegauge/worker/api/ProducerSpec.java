package io.tidegauge.worker.api;

/**
 * A producer to create.
 *
 * @param topicIndex the topic's place in the engine's list
 * @param batchByKey whether a batch may hold messages of one key only, as key-shared subscriptions
 *     need it where a system hands batches over whole
 * @param place among the clients of all workers; null if this driver makes them all
 */
public record ProducerSpec(
    String topic,
    int topicIndex,
    int partitions,
    String clientId,
    ClientOptions options,
    boolean batchByKey,
    Place place) {

  /** A producer that fills its batches as messages come. */
  public ProducerSpec(
      String topic, int topicIndex, int partitions, String clientId, ClientOptions options) {
    this(topic, topicIndex, partitions, clientId, options, false, null);
  }
}
