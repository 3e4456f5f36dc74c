package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.RefusedException;
import io.tidegauge.worker.drivers.FoundSettings;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnsupportedVersionException;

/**
 * Reads the settings in force back from the running cluster: of the cluster (features, size), of
 * every broker and of the topics asked for, with where their partitions really are.
 */
final class Description {
  private static final String CLUSTER = "cluster";

  /** Of larger topics only the number of leaders by broker is reported. */
  private static final int PARTITIONS_LISTED_MAX = 128;

  private final Admin admin;
  private final int timeoutMs;
  private final FoundSettings found = new FoundSettings();

  Description(Admin admin, int timeoutMs) {
    this.admin = admin;
    this.timeoutMs = timeoutMs;
  }

  List<EffectiveSetting> read(List<String> topics) throws DriverException {
    Collection<Node> brokers = readCluster();
    readFeatures();
    readConfigs(brokers, topics);
    readPlacement(topics);
    return found.all();
  }

  private Collection<Node> readCluster() throws DriverException {
    DescribeClusterResult cluster = admin.describeCluster();
    Collection<Node> brokers = Failures.await(cluster.nodes(), "list its brokers", timeoutMs);
    found.add(
        CLUSTER,
        "cluster.id",
        Failures.await(cluster.clusterId(), "report its cluster id", timeoutMs));
    found.add(CLUSTER, "brokers", brokers.size());
    for (Node broker : brokers) {
      found.add(scope(broker), "address", broker.host() + ":" + broker.port());
      if (broker.hasRack()) {
        found.add(scope(broker), "rack", broker.rack());
      }
    }
    return brokers;
  }

  /**
   * The protocol has no server version; metadata.version is the nearest thing to it. Brokers before
   * 2.7 have neither.
   */
  private void readFeatures() throws DriverException {
    FeatureMetadata features =
        Failures.awaitUnless(
            UnsupportedVersionException.class,
            admin.describeFeatures().featureMetadata(),
            "report its features",
            timeoutMs);
    if (features == null) {
      return;
    }
    new TreeMap<>(features.finalizedFeatures())
        .forEach((name, range) -> found.add(CLUSTER, "feature." + name, range.maxVersionLevel()));
    new TreeMap<>(features.supportedFeatures())
        .forEach(
            (name, range) ->
                found.add(
                    CLUSTER,
                    "feature.supported." + name,
                    range.minVersion() + "-" + range.maxVersion()));
  }

  private void readConfigs(Collection<Node> brokers, List<String> topics) throws DriverException {
    List<ConfigResource> wanted = new ArrayList<>();
    brokers.forEach(
        broker -> wanted.add(new ConfigResource(ConfigResource.Type.BROKER, broker.idString())));
    topics.forEach(topic -> wanted.add(new ConfigResource(ConfigResource.Type.TOPIC, topic)));
    Map<ConfigResource, KafkaFuture<Config>> answers = admin.describeConfigs(wanted).values();
    for (ConfigResource resource : wanted) {
      boolean broker = resource.type() == ConfigResource.Type.BROKER;
      String scope = (broker ? "broker " : "topic ") + resource.name();
      String what = "the configuration of " + scope;
      String right = " (DESCRIBE_CONFIGS on " + (broker ? "the cluster)" : "the topic)");
      try {
        found.readOrMarkUnknown(
            scope, "configuration", what + right, () -> readConfig(scope, answers.get(resource)));
      } catch (RefusedException e) {
        // Not every product that speaks the protocol tells clients its configuration.
        if (!(Failures.root(e.getCause()) instanceof UnsupportedVersionException)) {
          throw e;
        }
        found.add(scope, "configuration", "unknown: the cluster tells no client " + what);
      }
    }
  }

  private void readConfig(String scope, KafkaFuture<Config> answer) throws DriverException {
    Failures.await(answer, "describe " + scope, timeoutMs).entries().stream()
        .sorted((a, b) -> a.name().compareTo(b.name()))
        .forEach(entry -> found.add(setting(scope, entry)));
  }

  private static EffectiveSetting setting(String scope, ConfigEntry entry) {
    Boolean isDefault =
        entry.source() == ConfigEntry.ConfigSource.UNKNOWN
            ? null
            : entry.source() == ConfigEntry.ConfigSource.DEFAULT_CONFIG;
    String value = entry.isSensitive() ? "(hidden)" : entry.value() == null ? "" : entry.value();
    return new EffectiveSetting(scope, entry.name(), value, isDefault);
  }

  private void readPlacement(List<String> topics) throws DriverException {
    Map<String, KafkaFuture<TopicDescription>> answers =
        admin.describeTopics(topics).topicNameValues();
    for (String name : topics) {
      found.readOrMarkUnknown(
          "topic " + name,
          "replication.factor",
          "topic " + name + " (DESCRIBE on it)",
          () -> readPlacement("topic " + name, answers.get(name)));
    }
  }

  /**
   * How many copies there really are, and on which broker the leaders are: "1: 34, 2: 33, 3: 33".
   */
  private void readPlacement(String scope, KafkaFuture<TopicDescription> answer)
      throws DriverException {
    TopicDescription topic = Failures.await(answer, "describe " + scope, timeoutMs);
    int copiesMin = Integer.MAX_VALUE;
    int copiesMax = 0;
    int inSyncMin = Integer.MAX_VALUE;
    Map<Integer, Integer> leaders = new TreeMap<>();
    List<String> byPartition = new ArrayList<>();
    for (TopicPartitionInfo partition : topic.partitions()) {
      copiesMin = Math.min(copiesMin, partition.replicas().size());
      copiesMax = Math.max(copiesMax, partition.replicas().size());
      inSyncMin = Math.min(inSyncMin, partition.isr().size());
      int leader = partition.leader() == null ? -1 : partition.leader().id();
      leaders.merge(leader, 1, Integer::sum);
      byPartition.add(Integer.toString(leader));
    }
    String copies = copiesMin == copiesMax ? "" + copiesMin : copiesMin + "-" + copiesMax;
    found
        .add(scope, "partitions", topic.partitions().size())
        .add(scope, "replication.factor", copies)
        .add(scope, "in.sync.replicas", inSyncMin)
        .add(
            scope,
            "leaders.by.broker",
            leaders.toString().replaceAll("[{}]", "").replace("=", ": "));
    if (byPartition.size() <= PARTITIONS_LISTED_MAX) {
      found.add(scope, "leaders.by.partition", String.join(", ", byPartition));
    }
  }

  private static String scope(Node broker) {
    return "broker " + broker.idString();
  }
}
