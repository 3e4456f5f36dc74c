package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Progress;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.drivers.HttpApi;
import io.tidegauge.worker.drivers.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;

/**
 * Creates and deletes topics. A topic of one partition is created as one that is not partitioned,
 * as Pulsar's users have it; the number of copies is the namespace's or the broker's matter.
 */
final class Topics {
  private static final int PARTITIONS_PER_REQUEST = 1_000;

  /** Topics that a broker is asked to load at a time. */
  private static final int OPEN_BATCH = 200;

  private final AdminRest rest;
  private final Connection connection;
  private final Progress progress;

  Topics(AdminRest rest, Connection connection, Progress progress) {
    this.rest = rest;
    this.connection = connection;
    this.progress = progress;
  }

  /**
   * Creates some of the topics and returns when a broker has opened every partition of these for
   * writing. Brokers are chosen as if all were created together.
   *
   * @throws DriverException if fewer brokers are active than the connection says there must be
   */
  void create(List<TopicSpec> all, IntPredicate mine, PulsarClient client) throws DriverException {
    Placement placement = new Placement(rest, connection);
    placement.requireBrokers();
    Map<String, Boolean> isMine = new LinkedHashMap<>();
    int count = (int) IntStream.range(0, all.size()).filter(mine).count();
    int made = 0;
    for (int t = 0; t < all.size(); t++) {
      TopicSpec spec = all.get(t);
      if (!spec.settings().isEmpty()) {
        throw new DriverException(
            "Pulsar topics have no settings of their own here: "
                + String.join(", ", spec.settings().keySet()));
      }
      if (mine.test(t)) {
        createOne(spec);
        progress.at("topics", ++made, count);
      }
      int partitions = spec.partitions() == 1 ? 0 : spec.partitions();
      for (String partition : partitionNames(connection.fullName(spec.name()), partitions)) {
        isMine.put(partition, mine.test(t));
      }
    }
    placement.spread(isMine);
    openAll(isMine.keySet().stream().filter(isMine::get).toList(), client);
  }

  /** Full names of a topic's partitions; its own name if it is not partitioned (0 partitions). */
  static List<String> partitionNames(String fullName, int partitions) {
    return partitions == 0
        ? List.of(fullName)
        : IntStream.range(0, partitions).mapToObj(p -> fullName + "-partition-" + p).toList();
  }

  private void createOne(TopicSpec spec) throws DriverException {
    String what = "create topic " + spec.name();
    if (spec.partitions() == 1) {
      rest.require(what, "PUT", connection.path(spec.name()), null);
      return;
    }
    int partitions = Math.min(spec.partitions(), PARTITIONS_PER_REQUEST);
    rest.require(
        what, "PUT", connection.path(spec.name()) + "/partitions", Integer.toString(partitions));
    while (partitions < spec.partitions()) {
      partitions = Math.min(spec.partitions(), partitions + PARTITIONS_PER_REQUEST);
      rest.require(
          what, "POST", connection.path(spec.name()) + "/partitions", Integer.toString(partitions));
    }
  }

  /** A producer that comes up means: a broker owns the partition and has a ledger open for it. */
  private void openAll(List<String> partitions, PulsarClient client) throws DriverException {
    for (int from = 0; from < partitions.size(); from += OPEN_BATCH) {
      List<CompletableFuture<Void>> batch = new ArrayList<>();
      for (String partition :
          partitions.subList(from, Math.min(partitions.size(), from + OPEN_BATCH))) {
        batch.add(
            client.newProducer().topic(partition).createAsync().thenCompose(Producer::closeAsync));
      }
      Failures.await(
          CompletableFuture.allOf(batch.toArray(CompletableFuture[]::new)),
          "open " + partitions.get(from) + " and those after it for writing",
          2L * Connection.TIMEOUT_MS);
      progress.at("partitions", Math.min(partitions.size(), from + OPEN_BATCH), partitions.size());
    }
  }

  /** The number of partitions of each, one of a topic that has none; fails if one is not there. */
  List<Integer> partitionsOf(List<String> names) throws DriverException {
    List<Integer> found = new ArrayList<>();
    for (String name : names) {
      int partitions = partitions(name);
      if (partitions == 0) {
        rest.require("find topic " + name, "GET", connection.path(name) + "/subscriptions", null);
      }
      found.add(Math.max(1, partitions));
    }
    return found;
  }

  /**
   * False if the metadata store, which all brokers share, has no such topic, nor its namespace. One
   * with a single partition may have been made as partitioned or not.
   */
  boolean exists(String name, int partitions) throws DriverException {
    String path = connection.path(name);
    String folder =
        path.substring(0, path.lastIndexOf('/')) + (partitions > 1 ? "/partitioned" : "");
    HttpApi.Answer listed = rest.call("GET", folder, null);
    if (listed.status() == HttpApi.NOT_FOUND) {
      return false;
    }
    if (!listed.isGood()) {
      throw AdminRest.refusal("list its topics", listed);
    }
    List<String> names = AdminRest.names(listed.body());
    String fullName = connection.fullName(name);
    return names.contains(fullName)
        || partitions == 1 && names.contains(partitionNames(fullName, 1).get(0));
  }

  /**
   * How many partitions a topic was made with, 0 if it is not partitioned.
   *
   * @throws DriverException also if it is not there
   */
  int partitions(String name) throws DriverException {
    String answer =
        rest.require("find topic " + name, "GET", connection.path(name) + "/partitions", null);
    return Json.readMap(answer).get("partitions") instanceof Number number ? number.intValue() : 0;
  }

  /** Removes the subscriptions that begin so, also those with a consumer whose process died. */
  void unsubscribe(String name, String prefix) throws DriverException {
    String what = "remove our subscriptions of topic " + name;
    HttpApi.Answer listed = rest.call("GET", connection.path(name) + "/subscriptions", null);
    if (listed.status() == HttpApi.NOT_FOUND) {
      return;
    }
    if (!listed.isGood()) {
      throw AdminRest.refusal(what, listed);
    }
    for (String known : AdminRest.names(listed.body())) {
      if (known.startsWith(prefix)) {
        rest.require(
            what, "DELETE", connection.path(name) + "/subscription/" + known + "?force=true", null);
      }
    }
  }

  /** Deletes topics with their subscriptions. What does not exist is no error. */
  void delete(List<String> names) throws DriverException {
    for (String name : names) {
      HttpApi.Answer partitioned =
          rest.call("DELETE", connection.path(name) + "/partitions?force=true", null);
      if (partitioned.isGood()) {
        continue;
      }
      HttpApi.Answer plain = rest.call("DELETE", connection.path(name) + "?force=true", null);
      // Without a plain topic of that name, what hindered the deletion of a partitioned one counts.
      HttpApi.Answer answer = plain.status() == HttpApi.NOT_FOUND ? partitioned : plain;
      if (!answer.isGood() && answer.status() != HttpApi.NOT_FOUND) {
        throw AdminRest.refusal("delete topic " + name, answer);
      }
    }
  }
}
