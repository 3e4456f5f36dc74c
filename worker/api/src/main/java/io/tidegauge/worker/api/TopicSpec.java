package io.tidegauge.worker.api;

import java.util.Map;

/**
 * A topic to create.
 *
 * @param settings topic-level settings in the system's own words (Kafka: flush.messages)
 */
public record TopicSpec(
    String name, int partitions, int replicationFactor, Map<String, String> settings) {}
