package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Keys;
import io.tidegauge.worker.api.TopicSpec;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * How a topic is laid out.
 *
 * @param members copies of each queue, for types that have them
 * @param persistent whether producers mark messages as persistent (delivery mode 2); streams always
 *     are
 * @param arguments further queue arguments, as they are given: "x-queue-version",
 *     "x-max-in-memory-length"
 */
record TopicSettings(
    QueueType type, int members, boolean persistent, Map<String, Object> arguments) {
  static final String TYPE = "queue.type";
  static final String MEMBERS = "queue.members";
  static final String PERSISTENT = "message.persistent";
  private static final List<String> KEYS = List.of(TYPE, MEMBERS, PERSISTENT);

  static TopicSettings of(TopicSpec spec, QueueType typeByDefault) throws DriverException {
    QueueType type = typeByDefault;
    int members = Math.max(1, spec.replicationFactor());
    boolean persistent = true;
    Map<String, Object> arguments = new HashMap<>();
    for (Map.Entry<String, String> setting : spec.settings().entrySet()) {
      String value = setting.getValue().trim();
      switch (setting.getKey()) {
        case TYPE -> type = QueueType.of(value);
        case MEMBERS -> members = Values.wholeNumber(MEMBERS, value, 1);
        case PERSISTENT -> persistent = Values.truth(PERSISTENT, value);
        default -> arguments.put(argumentName(setting.getKey()), Values.argument(value));
      }
    }
    if (type == QueueType.STREAM && !persistent) {
      throw new DriverException(
          "RabbitMQ's streams have no transient messages: leave out " + PERSISTENT);
    }
    return new TopicSettings(
        type, type == QueueType.CLASSIC ? 1 : members, persistent, Map.copyOf(arguments));
  }

  private static String argumentName(String key) throws DriverException {
    if (!key.startsWith("x-")) {
      Keys.check("RabbitMQ", "topic setting", List.of(key), KEYS);
    }
    return key;
  }

  /** The arguments of a queue declaration. */
  Map<String, Object> queueArguments() {
    Map<String, Object> all = new HashMap<>();
    all.put("x-queue-type", type.argument());
    switch (type) {
      case QUORUM -> all.put("x-quorum-initial-group-size", members);
      case STREAM -> all.put("x-initial-cluster-size", members);
      default -> {
        // A classic queue is on one node; its mirrors come from a policy.
      }
    }
    all.putAll(arguments);
    return all;
  }
}
