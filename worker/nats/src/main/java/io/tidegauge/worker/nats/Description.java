package io.tidegauge.worker.nats;

import io.nats.client.JetStreamApiException;
import io.nats.client.JetStreamManagement;
import io.nats.client.api.ClusterInfo;
import io.nats.client.api.PeerInfo;
import io.nats.client.api.PersistMode;
import io.nats.client.api.Replica;
import io.nats.client.api.StreamConfiguration;
import io.nats.client.api.StreamInfo;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.drivers.FoundSettings;
import io.tidegauge.worker.drivers.HttpApi;
import io.tidegauge.worker.drivers.Json;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Reads the settings in force back: of every server from its monitoring endpoint, of topics from
 * their streams. What streams of a topic have differently is listed, "1, 3".
 */
final class Description {
  private static final String CLUSTER = "cluster";

  /** Of larger topics nobody lists who leads which partition. */
  private static final int PARTITIONS_LISTED_MAX = 128;

  private static final double NS_PER_S = 1e9;

  /** By name, what /varz says of JetStream, where it says it. */
  private static final List<String> JETSTREAM =
      List.of("max_memory", "max_storage", "domain", "strict");

  private final JetStreamManagement jetStream;
  private final Monitoring monitoring;
  private final FoundSettings found = new FoundSettings();

  Description(JetStreamManagement jetStream, Monitoring monitoring) {
    this.jetStream = jetStream;
    this.monitoring = monitoring;
  }

  List<EffectiveSetting> read(String version, List<Topic> topics) throws DriverException {
    found.add(CLUSTER, "version", version);
    readServers();
    for (Topic topic : topics) {
      readTopic(topic);
    }
    return found.all();
  }

  private void readServers() throws DriverException {
    long servers = 0;
    IOException unreached = null;
    for (String base : monitoring.bases()) {
      try {
        readServer(monitoring.read(base, "/varz"));
        Map<String, Object> meta = Json.map(monitoring.read(base, "/jsz").get("meta_cluster"));
        servers =
            Math.max(
                servers, meta.get("cluster_size") instanceof Number size ? size.longValue() : 1);
      } catch (IOException e) {
        // One that is down says nothing; the others are asked all the same.
        unreached = e;
      }
    }
    if (servers == 0 && unreached != null) {
      String why = "no monitoring endpoint could be read (" + HttpApi.words(unreached) + ")";
      found.add(CLUSTER, "sync_interval", "unknown: " + why);
    }
    if (servers > 0) {
      found.add(CLUSTER, "nodes", servers);
    }
  }

  private void readServer(Map<String, Object> said) {
    String scope = "server " + said.get("server_name");
    found.add(scope, "version", said.get("version"));
    Map<String, Object> jetStreamSaid = Json.map(said.get("jetstream"));
    Map<String, Object> config = Json.map(jetStreamSaid.get("config"));
    if (config.isEmpty()) {
      found.add(scope, "jetstream", "disabled");
      return;
    }
    if (Boolean.TRUE.equals(config.get("sync_always"))) {
      found.add(scope, "sync_interval", "always");
    } else if (config.get("sync_interval") instanceof Number interval) {
      found.add(scope, "sync_interval", seconds(interval.longValue()));
    }
    for (String name : JETSTREAM) {
      if (config.containsKey(name)) {
        found.add(scope, name, config.get(name));
      }
    }
    for (String name : List.of("max_payload", "max_pending", "write_deadline", "gomaxprocs")) {
      if (said.containsKey(name)) {
        found.add(scope, name, said.get(name));
      }
    }
  }

  private static String seconds(long ns) {
    double seconds = ns / NS_PER_S;
    return (seconds == Math.rint(seconds) ? Long.toString((long) seconds) : seconds) + "s";
  }

  private void readTopic(Topic topic) throws DriverException {
    List<StreamInfo> streams = new ArrayList<>();
    for (int partition = 0; partition < topic.partitions; partition++) {
      String stream = topic.stream(partition);
      try {
        streams.add(jetStream.getStreamInfo(stream));
      } catch (JetStreamApiException e) {
        if (!Failures.isAbsent(e)) {
          throw Failures.describe("describe stream " + stream, e);
        }
      } catch (IOException | RuntimeException e) {
        throw Failures.describe("describe stream " + stream, e);
      }
    }
    String scope = "topic " + topic.name;
    found.add(scope, "partitions", streams.size());
    Map<String, TreeSet<String>> values = new TreeMap<>();
    List<String> leaders = new ArrayList<>();
    long inSync = Long.MAX_VALUE;
    for (StreamInfo stream : streams) {
      addTo(values, stream.getConfiguration());
      ClusterInfo cluster = stream.getClusterInfo();
      String leader = cluster == null || cluster.getLeader() == null ? "" : cluster.getLeader();
      leaders.add(leader);
      long current = leader.isEmpty() ? 0 : 1;
      if (cluster != null && cluster.getReplicas() != null) {
        current += cluster.getReplicas().stream().filter(Description::isCurrent).count();
        for (Replica replica : cluster.getReplicas()) {
          values.computeIfAbsent("peers", key -> new TreeSet<>()).add(replica.getName());
        }
      }
      inSync = Math.min(inSync, current);
      if (!leader.isEmpty()) {
        values.computeIfAbsent("peers", key -> new TreeSet<>()).add(leader);
      }
    }
    values.forEach((name, all) -> found.add(scope, name, String.join(", ", all)));
    if (!streams.isEmpty()) {
      found.add(scope, "in.sync.replicas", inSync);
    }
    if (topic.partitions <= PARTITIONS_LISTED_MAX) {
      found.add(scope, "leaders.by.partition", String.join(", ", leaders));
    }
  }

  private static boolean isCurrent(PeerInfo peer) {
    return peer.isCurrent() && !peer.isOffline();
  }

  private static void addTo(Map<String, TreeSet<String>> values, StreamConfiguration stream) {
    PersistMode mode = stream.getPersistMode();
    Map<String, Object> facts = new TreeMap<>();
    facts.put(TopicSettings.STORAGE, stream.getStorageType());
    facts.put(TopicSettings.REPLICAS, stream.getReplicas());
    facts.put(
        TopicSettings.PERSIST_MODE, mode == null ? PersistMode.Default.getMode() : mode.getMode());
    facts.put(TopicSettings.COMPRESSION, stream.getCompressionOption());
    facts.put("retention", stream.getRetentionPolicy());
    facts.put("discard", stream.getDiscardPolicy());
    facts.put("max_msgs", stream.getMaxMsgs());
    facts.put("max_bytes", stream.getMaxBytes());
    facts.put("max_age_s", stream.getMaxAge() == null ? 0 : stream.getMaxAge().toSeconds());
    facts.put("no_ack", stream.getNoAck());
    facts.forEach(
        (name, value) ->
            values.computeIfAbsent(name, key -> new TreeSet<>()).add(String.valueOf(value)));
  }
}
