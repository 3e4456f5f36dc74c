package io.tidegauge.worker.api;

/** A producer to create. {@code topicIndex} is the topic's place in the engine's list. */
public record ProducerSpec(
    String topic, int topicIndex, int partitions, String clientId, ClientOptions options) {}
