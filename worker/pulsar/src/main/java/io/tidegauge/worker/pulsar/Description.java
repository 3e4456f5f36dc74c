package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.drivers.FoundSettings;
import io.tidegauge.worker.drivers.HttpApi;
import io.tidegauge.worker.drivers.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads the settings in force back through the admin API: of every broker, of the namespace, and of
 * the topics asked for, with the quorums that their ledgers were really made with. Bookies have no
 * part in this API.
 */
final class Description {
  private static final Pattern SECRET =
      Pattern.compile("(?i).*(password|secret|authParam|AuthenticationParameters).*");
  private static final Pattern QUORUM =
      Pattern.compile("(ensembleSize|writeQuorumSize|ackQuorumSize)=(\\d+)");

  /** Of larger topics only the number of partitions by owner is reported. */
  private static final int PARTITIONS_LISTED_MAX = 128;

  private final AdminRest rest;
  private final Connection connection;
  private final FoundSettings found = new FoundSettings();

  Description(AdminRest rest, Connection connection) {
    this.rest = rest;
    this.connection = connection;
  }

  List<EffectiveSetting> read(List<String> topics) throws DriverException {
    List<String> brokers = new ArrayList<>();
    found.readOrMarkUnknown(
        "cluster", "brokers", "the list of brokers", () -> readBrokers(brokers));
    if (connection.brokers() > 0) {
      add("cluster", "brokers.started", connection.brokers());
    }
    for (String broker : brokers) {
      String scope = "broker " + broker;
      found.readOrMarkUnknown(
          scope, "configuration", "the configuration of " + scope, () -> readBroker(broker, scope));
    }
    String namespace = "namespace " + connection.namespace();
    found.readOrMarkUnknown(
        namespace, "policies", "the policies of " + namespace, this::readNamespace);
    Map<String, Integer> partitions = new LinkedHashMap<>();
    for (String topic : topics) {
      String scope = "topic " + topic;
      found.readOrMarkUnknown(
          scope, "partitions", scope, () -> partitions.put(topic, readTopic(topic)));
      if (partitions.containsKey(topic)) {
        int count = partitions.get(topic);
        found.readOrMarkUnknown(
            scope, "ledgers", "the ledgers of " + scope, () -> readLedgers(topic, count));
      }
    }
    if (!topics.isEmpty()) {
      found.readOrMarkUnknown(
          namespace,
          "partition.owners",
          "which broker serves which topic",
          () -> readOwners(brokers, topics, partitions));
    }
    return found.all();
  }

  private void readBrokers(List<String> brokers) throws DriverException {
    brokers.addAll(rest.brokers());
    add("cluster", "brokers", brokers.size());
  }

  private void readOwners(
      List<String> brokers, List<String> topics, Map<String, Integer> partitions)
      throws DriverException {
    Map<String, Map<String, Integer>> byNamespace = new TreeMap<>();
    topics.forEach(topic -> byNamespace.put(connection.namespaceOf(topic), new LinkedHashMap<>()));
    partitions.forEach((t, n) -> byNamespace.get(connection.namespaceOf(t)).put(t, n));
    for (Map.Entry<String, Map<String, Integer>> namespace : byNamespace.entrySet()) {
      Bundles bundles = Bundles.of(rest, namespace.getKey());
      Optional<Map<String, String>> owners = bundles.owners(brokers);
      owners.ifPresent(
          known -> namespace.getValue().forEach((t, n) -> addOwners(t, n, bundles, known)));
    }
  }

  private void readBroker(String broker, String scope) throws DriverException {
    HttpApi.Answer version = rest.callBroker(broker, "GET", "brokers/version");
    if (version.isGood()) {
      add(scope, "version", version.body().replace("\"", "").strip());
    }
    HttpApi.Answer runtime = rest.callBroker(broker, "GET", "brokers/configuration/runtime");
    if (!runtime.isGood()) {
      throw AdminRest.refusal("report the configuration of " + scope, runtime);
    }
    Json.readMap(runtime.body()).forEach((name, value) -> add(scope, name, value));
  }

  private void readNamespace() throws DriverException {
    String body =
        rest.require("describe the namespace", "GET", "namespaces/" + connection.namespace(), null);
    String scope = "namespace " + connection.namespace();
    Json.readMap(body).forEach((name, value) -> add(scope, name, value));
  }

  /** Returns how many partitions the topic has, 0 if it is not partitioned. */
  private int readTopic(String topic) throws DriverException {
    String scope = "topic " + topic;
    String path = connection.path(topic);
    Object partitions =
        Json.readMap(rest.require("describe " + scope, "GET", path + "/partitions", null))
            .get("partitions");
    boolean plain = !(partitions instanceof Number count) || count.intValue() == 0;
    add(scope, "partitions", plain ? 1 : partitions);
    add(scope, "partitioned", !plain);
    HttpApi.Answer policy = rest.call("GET", path + "/persistence?applied=true", null);
    if (policy.isGood()) {
      Json.readMap(policy.body()).forEach((name, value) -> add(scope, name, value));
    }
    return plain ? 0 : Integer.parseInt(String.valueOf(partitions));
  }

  /**
   * The truth of the newest ledger of one partition; policies only say what the next one will be.
   */
  private void readLedgers(String topic, int partitions) throws DriverException {
    String scope = "topic " + topic;
    String path = connection.path(topic);
    String first = partitions == 0 ? path : path + "-partition-0";
    String ledgers =
        rest.require(
            "describe the ledgers of " + topic,
            "GET",
            first + "/internalStats?metadata=true",
            null);
    if (Json.readMap(ledgers).get("ledgers") instanceof List<?> list && !list.isEmpty()) {
      Matcher quorum = QUORUM.matcher(String.valueOf(list.get(list.size() - 1)));
      while (quorum.find()) {
        add(scope, "ledger." + quorum.group(1), quorum.group(2));
      }
    }
  }

  /** How many of the topic's partitions each broker serves, and how many nobody does. */
  private void addOwners(
      String topic, int partitions, Bundles bundles, Map<String, String> owners) {
    Map<String, Integer> counts = new TreeMap<>();
    List<String> byPartition = new ArrayList<>();
    int unowned = 0;
    for (String partition : Topics.partitionNames(connection.fullName(topic), partitions)) {
      String owner = owners.get(bundles.of(partition));
      byPartition.add(owner == null ? "none" : owner);
      if (owner == null) {
        unowned++;
      } else {
        counts.merge(owner, 1, Integer::sum);
      }
    }
    add("topic " + topic, "partition.owners", counts);
    add("topic " + topic, "partitions.unowned", unowned);
    if (byPartition.size() <= PARTITIONS_LISTED_MAX) {
      add("topic " + topic, "partition.owners.by.partition", String.join(", ", byPartition));
    }
  }

  private void add(String scope, String name, Object value) {
    String text = EffectiveSettings.text(value);
    boolean hidden = !text.isEmpty() && SECRET.matcher(name).matches();
    found.add(scope, name, hidden ? "(hidden)" : text);
  }
}
