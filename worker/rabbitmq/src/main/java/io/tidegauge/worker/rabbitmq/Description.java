package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.drivers.FoundSettings;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Reads back what is in force: the server's version, its nodes with their alarms, its policies, and
 * for each topic what its queues really are. Without the management API only what the AMQP
 * handshake says.
 */
final class Description {
  private static final String CLUSTER = "cluster";

  /** Of topics with more queues only the number of leaders by node is reported. */
  private static final int QUEUES_LISTED_MAX = 128;

  /**
   * Some facts of some queues come with their statistics, every 5 s by default. They are waited for
   * once, whatever the topics.
   */
  private static final long STATISTICS_MS_MAX = 12_000;

  private static final long POLL_MS = 200;
  private static final List<String> NODE_FACTS =
      List.of(
          "running",
          "mem_alarm",
          "disk_free_alarm",
          "mem_limit",
          "disk_free_limit",
          "partitions",
          "type");

  private final AdminLink admin;
  private final Management management;
  private final FoundSettings found = new FoundSettings();
  private long statisticsUntilNs;

  Description(AdminLink admin, Management management) {
    this.admin = admin;
    this.management = management;
  }

  List<EffectiveSetting> read(List<String> topics) throws DriverException {
    if (!management.isKnown()) {
      Map<String, Object> server = admin.serverProperties();
      found.add(CLUSTER, "version", server.get("version"));
      found.add(CLUSTER, "cluster_name", server.get("cluster_name"));
      found.add(CLUSTER, "queues", "unknown: no managementUrl was given");
      return found.all();
    }
    statisticsUntilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(STATISTICS_MS_MAX);
    readOrMarkUnknown(CLUSTER, "version", "the overview", this::readOverview);
    readOrMarkUnknown(CLUSTER, "nodes", "the nodes (tag monitoring)", this::readNodes);
    readOrMarkUnknown(CLUSTER, "policies", "the policies (tag policymaker)", this::readPolicies);
    for (String topic : topics) {
      String scope = "topic " + topic;
      readOrMarkUnknown(scope, "queues", "the queues of " + scope, () -> readTopic(topic));
    }
    return found.all();
  }

  private void readOrMarkUnknown(String scope, String name, String what, FoundSettings.Part part)
      throws DriverException {
    if (!found.readOrMarkUnknown(scope, name, what, part)) {
      // Not every version distinguishes a wrong password from a right that is missing; AMQP does.
      admin.serverProperties();
    }
  }

  private void readOverview() throws DriverException {
    Map<String, Object> overview = management.overview();
    found.add(CLUSTER, "version", overview.get("rabbitmq_version"));
    found.add(CLUSTER, "erlang_version", overview.get("erlang_version"));
    found.add(CLUSTER, "cluster_name", overview.get("cluster_name"));
  }

  private void readNodes() throws DriverException {
    List<Map<String, Object>> nodes = management.nodes();
    found.add(CLUSTER, "nodes", nodes.size());
    for (Map<String, Object> node : nodes) {
      for (String fact : NODE_FACTS) {
        if (node.containsKey(fact)) {
          found.add("node " + node.get("name"), fact, QueueFacts.text(node.get(fact)));
        }
      }
    }
  }

  private void readPolicies() throws DriverException {
    for (Map<String, Object> policy : management.policies()) {
      String scope = "policy " + policy.get("name");
      found.add(scope, "pattern", policy.get("pattern"));
      found.add(scope, "apply-to", policy.get("apply-to"));
      found.add(scope, "definition", QueueFacts.text(policy.get("definition")));
    }
  }

  private void readTopic(String topic) throws DriverException {
    Set<String> names = management.queuesOf(topic);
    if (names.isEmpty() && !management.queue(topic).isEmpty()) {
      // A queue or stream of others has no exchange of its own.
      names = Set.of(topic);
    }
    String scope = "topic " + topic;
    found.add(scope, "queues", names.size());
    Object mode = management.exchangeArguments(topic).get(Topology.DELIVERY_MODE);
    found.add(scope, "message.delivery_mode", mode == null ? "unknown" : mode);
    Map<String, Map<String, String>> byQueue = new LinkedHashMap<>();
    for (Map.Entry<String, Map<String, Object>> queue : awaitStatistics(names).entrySet()) {
      byQueue.put(queue.getKey(), QueueFacts.of(queue.getValue()));
    }
    addFacts(scope, byQueue);
    if (byQueue.size() <= QUEUES_LISTED_MAX) {
      List<String> leaders = new ArrayList<>();
      byQueue.forEach((queue, facts) -> leaders.add(queue + "=" + facts.get(QueueFacts.LEADER)));
      found.add(scope, "queue.leaders.by.queue", String.join(", ", leaders));
    }
  }

  private Map<String, Map<String, Object>> awaitStatistics(Set<String> names)
      throws DriverException {
    Map<String, Map<String, Object>> found = new TreeMap<>();
    for (String name : names) {
      Map<String, Object> queue = management.queue(name);
      while (!QueueFacts.isComplete(queue) && System.nanoTime() < statisticsUntilNs) {
        Failures.pause(POLL_MS, "be described");
        queue = management.queue(name);
      }
      found.put(name, queue);
    }
    return found;
  }

  /** Each fact as most of the topic's queues have it; then, by name, the queues that differ. */
  private void addFacts(String scope, Map<String, Map<String, String>> byQueue) {
    Map<String, Map<String, Integer>> counts = new TreeMap<>();
    byQueue.values().forEach(facts -> facts.forEach((name, value) -> count(counts, name, value)));
    Map<String, String> usual = new TreeMap<>();
    counts.forEach(
        (name, values) -> {
          // Where the leaders are is meant to differ.
          boolean leaders = name.equals(QueueFacts.LEADER);
          if (!leaders) {
            usual.put(
                name, Collections.max(values.entrySet(), Map.Entry.comparingByValue()).getKey());
          }
          found.add(
              scope,
              leaders ? "queue.leaders" : name,
              leaders ? QueueFacts.text(values) : usual.get(name));
        });
    byQueue.forEach(
        (queue, facts) ->
            usual.forEach(
                (name, value) -> {
                  String own = facts.getOrDefault(name, "");
                  if (!own.equals(value)) {
                    found.add(scope + " queue " + queue, name, own);
                  }
                }));
  }

  private static void count(Map<String, Map<String, Integer>> counts, String name, String value) {
    counts.computeIfAbsent(name, key -> new TreeMap<>()).merge(value, 1, Integer::sum);
  }
}
