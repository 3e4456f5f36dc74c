package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.drivers.SettingChecks;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * How a topic is laid out.
 *
 * @param members copies of each queue, for types that have them; 0 = as the servers decide
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

  /** The queue argument that lets one consumer at a time receive. */
  static final String SINGLE_ACTIVE_CONSUMER = "x-single-active-consumer";

  private static final List<String> KEYS = List.of(TYPE, MEMBERS, PERSISTENT);

  static TopicSettings of(TopicSpec spec, QueueType typeByDefault) throws DriverException {
    QueueType type = typeByDefault;
    int members = spec.replicationFactor();
    boolean persistent = true;
    Map<String, Object> arguments = new HashMap<>();
    for (Map.Entry<String, String> setting : spec.settings().entrySet()) {
      String value = setting.getValue().trim();
      switch (setting.getKey()) {
        case TYPE -> type = QueueType.of(value);
        case MEMBERS ->
            members = SettingChecks.parseWholeNumber(Connection.SYSTEM, MEMBERS, value, 1);
        case PERSISTENT ->
            persistent = SettingChecks.parseTruth(Connection.SYSTEM, PERSISTENT, value);
        default -> arguments.put(argumentName(setting.getKey()), Values.argument(value));
      }
    }
    if (type == QueueType.STREAM && !persistent) {
      throw new DriverException(
          "RabbitMQ's streams have no transient messages: leave out " + PERSISTENT);
    }
    refuseLacking(spec.type(), type);
    if (spec.type() == SubscriptionType.FAILOVER && type != QueueType.STREAM) {
      arguments.put(SINGLE_ACTIVE_CONSUMER, true);
    }
    return new TopicSettings(type, copies(type, members), persistent, Map.copyOf(arguments));
  }

  private static int copies(QueueType type, int members) {
    return switch (type) {
      case CLASSIC -> 1;
      case MIRRORED -> Math.max(1, members); // A policy of ours says how many.
      default -> members;
    };
  }

  /** Refuses what neither queues nor streams have. */
  static void refuseLacking(SubscriptionType wanted, QueueType type) throws DriverException {
    if (wanted == SubscriptionType.KEY_SHARED) {
      throw wanted.lacking(
          "RabbitMQ",
          "a queue knows no keys; with several partitions, failover keeps the order of each key");
    }
    boolean reads = wanted == SubscriptionType.SHARED || wanted == SubscriptionType.EXCLUSIVE;
    if (reads && type == QueueType.STREAM) {
      throw wanted.lacking(
          "RabbitMQ's stream",
          "every consumer reads all of a stream; failover (single active consumer) is what it has");
    }
  }

  private static String argumentName(String key) throws DriverException {
    if (!key.startsWith("x-")) {
      SettingChecks.checkNames("RabbitMQ", "topic setting", List.of(key), KEYS);
    }
    return key;
  }

  /** The arguments of a queue declaration. */
  Map<String, Object> queueArguments() {
    Map<String, Object> all = new HashMap<>();
    all.put("x-queue-type", type.argument());
    if (members > 0 && type == QueueType.QUORUM) {
      all.put("x-quorum-initial-group-size", members);
    } else if (members > 0 && type == QueueType.STREAM) {
      all.put("x-initial-cluster-size", members);
    }
    // A classic queue is on one node; its mirrors come from a policy.
    all.putAll(arguments);
    return all;
  }
}
