package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.drivers.Json;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What the management API says about a queue, in the same words for every type and version. Pure.
 */
final class QueueFacts {
  static final String LEADER = "queue.leader";

  private QueueFacts() {}

  /**
   * Whether all that decides the durability level is there. The members of quorum queues, and with
   * newer servers those of streams, are known at once; mirrors, policy and storage version of
   * classic queues come with the statistics.
   */
  static boolean isComplete(Map<String, Object> queue) {
    return queue.isEmpty()
        || queue.containsKey("effective_policy_definition")
        || !Json.list(queue.get("members")).isEmpty() && !Json.list(queue.get("online")).isEmpty();
  }

  static Map<String, String> of(Map<String, Object> queue) {
    Map<String, String> facts = new TreeMap<>();
    if (queue.isEmpty()) {
      facts.put("queue.type", "absent");
      return facts;
    }
    Map<String, Object> arguments = Json.map(queue.get("arguments"));
    Object type = queue.get("type");
    facts.put(
        "queue.type",
        type == null ? text(arguments.getOrDefault("x-queue-type", "classic")) : type + "");
    facts.put("queue.durable", text(queue.get("durable")));
    boolean classic = facts.get("queue.type").equals("classic");
    facts.put("queue.members", members(queue, classic));
    facts.put("queue.members.online", online(queue, classic));
    facts.put("queue.arguments", text(arguments));
    if (queue.containsKey("effective_policy_definition")) {
      facts.put("queue.policy", text(queue.get("policy")));
      facts.put(
          "queue.policy.definition", text(Json.map(queue.get("effective_policy_definition"))));
    }
    facts.put("queue.storage_version", storageVersion(queue));
    Object leader = queue.containsKey("leader") ? queue.get("leader") : queue.get("node");
    facts.put(LEADER, text(leader));
    return facts;
  }

  /**
   * A classic queue is on one node and on those of its mirrors: what is reported as its members may
   * be left in the statistics by a deleted queue of its name. "" of another whose members the
   * server does not say: of streams, older ones don't.
   */
  private static String members(Map<String, Object> queue, boolean classic) {
    return classic ? oneAnd(queue, "slave_nodes") : number(Json.list(queue.get("members")));
  }

  private static String online(Map<String, Object> queue, boolean classic) {
    return classic
        ? oneAnd(queue, "synchronised_slave_nodes")
        : number(Json.list(queue.get("online")));
  }

  private static String oneAnd(Map<String, Object> queue, String mirrors) {
    return Integer.toString(1 + Json.list(queue.get(mirrors)).size());
  }

  private static String number(List<Object> nodes) {
    return nodes.isEmpty() ? "" : Integer.toString(nodes.size());
  }

  /** Of a classic queue: 1 or 2; "" if the server does not say. */
  private static String storageVersion(Map<String, Object> queue) {
    Object version = queue.get("storage_version");
    return text(
        version == null ? Json.map(queue.get("backing_queue_status")).get("version") : version);
  }

  /** Plain text of a value; objects as "key=value, key=value", lists sorted and joined by "+". */
  static String text(Object value) {
    if (value instanceof Map<?, ?>) {
      return String.join(
          ", ",
          Json.map(value).entrySet().stream()
              .map(field -> field.getKey() + "=" + text(field.getValue()))
              .toList());
    }
    return value instanceof List<?>
        ? String.join("+", Json.list(value).stream().map(String::valueOf).sorted().toList())
        : value == null ? "" : value.toString();
  }
}
