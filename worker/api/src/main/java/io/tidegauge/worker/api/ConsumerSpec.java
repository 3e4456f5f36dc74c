package io.tidegauge.worker.api;

/** A consumer to create, one of possibly several that share the subscription (Kafka: the group). */
public record ConsumerSpec(
    String topic,
    int topicIndex,
    int partitions,
    String subscription,
    String clientId,
    boolean startPaused,
    ClientOptions options) {}
