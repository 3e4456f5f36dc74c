package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Progress;
import io.tidegauge.worker.api.TopicSpec;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Creates and deletes topics. */
final class Topics {
  /**
   * A controller in KRaft mode refuses requests that make more than 10,000 records; smaller ones
   * also time out less.
   */
  private static final int PARTITIONS_PER_REQUEST = 1_000;

  private static final long POLL_INTERVAL_MS = 20;

  /** What a broker answers that does not know of a topic, or not yet. */
  private static final Class<UnknownTopicOrPartitionException> UNKNOWN =
      UnknownTopicOrPartitionException.class;

  private final Admin admin;
  private final int timeoutMs;
  private final Progress progress;
  private long total;

  Topics(Admin admin, int timeoutMs, Progress progress) {
    this.admin = admin;
    this.timeoutMs = timeoutMs;
    this.progress = progress;
  }

  /**
   * Creates some of the topics, laid out as if all were created together, and returns when the
   * leader of every partition answers.
   */
  void create(List<TopicSpec> all, IntPredicate mine) throws DriverException {
    Optional<Spread> spread = all.size() > 1 ? spread() : Optional.empty();
    List<TopicSpec> specs = new ArrayList<>();
    List<NewTopic> request = new ArrayList<>();
    int partitions = 0;
    total =
        IntStream.range(0, all.size()).filter(mine).mapToLong(t -> all.get(t).partitions()).sum();
    for (int t = 0; t < all.size(); t++) {
      NewTopic topic = newTopic(all.get(t), spread);
      if (!mine.test(t)) {
        continue;
      }
      specs.add(all.get(t));
      int first = Math.min(all.get(t).partitions(), PARTITIONS_PER_REQUEST);
      if (!request.isEmpty() && partitions + first > PARTITIONS_PER_REQUEST) {
        createInOneRequest(request);
        request.clear();
        partitions = 0;
      }
      request.add(topic);
      partitions += first;
    }
    if (!request.isEmpty()) {
      createInOneRequest(request);
    }
    for (TopicSpec spec : specs) {
      growTo(spec);
    }
    awaitLeaders(specs);
  }

  /** How to lay out several topics; empty where racks give Kafka more than we know. */
  private Optional<Spread> spread() throws DriverException {
    Collection<Node> brokers =
        Failures.await(admin.describeCluster().nodes(), "list its brokers", timeoutMs);
    if (brokers.size() < 2 || brokers.stream().anyMatch(Node::hasRack)) {
      return Optional.empty();
    }
    return Optional.of(new Spread(brokers.stream().map(Node::id).sorted().toList()));
  }

  private static NewTopic newTopic(TopicSpec spec, Optional<Spread> spread) {
    int first = Math.min(spec.partitions(), PARTITIONS_PER_REQUEST);
    if (spec.copiesOfCluster()) {
      return new NewTopic(spec.name(), Optional.of(first), Optional.empty())
          .configs(spec.settings());
    }
    int copies = spec.replicationFactor();
    return spread
        .filter(layout -> layout.canHold(copies))
        .map(layout -> new NewTopic(spec.name(), layout.place(first, copies)))
        .orElseGet(() -> new NewTopic(spec.name(), first, (short) copies))
        .configs(spec.settings());
  }

  private void createInOneRequest(List<NewTopic> topics) throws DriverException {
    Failures.await(admin.createTopics(topics).all(), "create " + names(topics), timeoutMs);
  }

  private void growTo(TopicSpec spec) throws DriverException {
    int partitions = PARTITIONS_PER_REQUEST;
    while (partitions < spec.partitions()) {
      // The request states the number before it, so the metadata must have caught up.
      awaitLeaders(List.of(withPartitions(spec, partitions)));
      progress.at("partitions", partitions, total);
      partitions = Math.min(spec.partitions(), partitions + PARTITIONS_PER_REQUEST);
      Failures.await(
          admin.createPartitions(Map.of(spec.name(), NewPartitions.increaseTo(partitions))).all(),
          "give " + spec.name() + " " + partitions + " partitions",
          timeoutMs);
    }
  }

  private static TopicSpec withPartitions(TopicSpec spec, int partitions) {
    return new TopicSpec(spec.name(), partitions, spec.replicationFactor(), spec.settings());
  }

  /**
   * Waits until all partitions have a leader that answers for them; gives up when nothing changes
   * for the timeout.
   */
  private void awaitLeaders(List<TopicSpec> specs) throws DriverException {
    Set<TopicPartition> open = new HashSet<>();
    for (TopicSpec spec : specs) {
      for (int partition = 0; partition < spec.partitions(); partition++) {
        open.add(new TopicPartition(spec.name(), partition));
      }
    }
    long all = open.size();
    long progressMonoNs = System.nanoTime();
    while (true) {
      int before = open.size();
      open.removeAll(answering(withLeader(open)));
      if (all == total) {
        progress.at("partitions", total - open.size(), total);
      }
      if (open.isEmpty()) {
        return;
      }
      if (open.size() < before) {
        progressMonoNs = System.nanoTime();
      } else if (System.nanoTime() - progressMonoNs > timeoutMs * 1_000_000L) {
        throw new DriverException(
            "Kafka gave "
                + open.size()
                + " partitions no leader within "
                + timeoutMs
                + " ms, "
                + open.iterator().next()
                + " among them");
      }
      Failures.pause(POLL_INTERVAL_MS, "wait for partition leaders");
    }
  }

  private List<TopicPartition> withLeader(Set<TopicPartition> partitions) throws DriverException {
    Set<String> names = new HashSet<>();
    partitions.forEach(partition -> names.add(partition.topic()));
    List<TopicPartition> led = new ArrayList<>();
    for (KafkaFuture<TopicDescription> answer :
        admin.describeTopics(names).topicNameValues().values()) {
      TopicDescription topic = Failures.awaitUnless(UNKNOWN, answer, "describe topics", timeoutMs);
      if (topic == null) {
        continue;
      }
      for (TopicPartitionInfo info : topic.partitions()) {
        TopicPartition partition = new TopicPartition(topic.name(), info.partition());
        if (info.leader() != null && !info.leader().isEmpty() && partitions.contains(partition)) {
          led.add(partition);
        }
      }
    }
    return led;
  }

  /**
   * Those whose leader knows that it is: only the leader answers for the newest offset. A broker
   * that has not heard of the topic yet is asked again later.
   */
  private List<TopicPartition> answering(List<TopicPartition> led) throws DriverException {
    List<TopicPartition> answered = new ArrayList<>();
    for (int from = 0; from < led.size(); from += PARTITIONS_PER_REQUEST) {
      Map<TopicPartition, OffsetSpec> question = new HashMap<>();
      for (TopicPartition partition :
          led.subList(from, Math.min(led.size(), from + PARTITIONS_PER_REQUEST))) {
        question.put(partition, OffsetSpec.latest());
      }
      ListOffsetsResult answers = admin.listOffsets(question);
      for (TopicPartition partition : question.keySet()) {
        KafkaFuture<ListOffsetsResultInfo> answer = answers.partitionResult(partition);
        if (Failures.awaitUnless(UNKNOWN, answer, "reach the partition leaders", timeoutMs)
            != null) {
          answered.add(partition);
        }
      }
    }
    return answered;
  }

  /** The number of partitions of each; fails if one does not exist. */
  List<Integer> partitionsOf(List<String> names) throws DriverException {
    List<Integer> partitions = new ArrayList<>();
    Map<String, KafkaFuture<TopicDescription>> answers =
        admin.describeTopics(names).topicNameValues();
    for (String name : names) {
      partitions.add(
          Failures.await(answers.get(name), "find topic " + name, timeoutMs).partitions().size());
    }
    return partitions;
  }

  /** False if a broker says that it does not know the topic. */
  boolean exists(String name) throws DriverException {
    Future<TopicDescription> answer =
        admin.describeTopics(List.of(name)).topicNameValues().get(name);
    return Failures.awaitUnless(UNKNOWN, answer, "find topic " + name, timeoutMs) != null;
  }

  /** Deletes the topics. What does not exist is no error. */
  void delete(Collection<String> names) throws DriverException {
    for (Map.Entry<String, KafkaFuture<Void>> answer :
        admin.deleteTopics(names).topicNameValues().entrySet()) {
      String what = "delete topic " + answer.getKey();
      Failures.awaitUnless(UNKNOWN, answer.getValue(), what, timeoutMs);
    }
  }

  private static String names(List<NewTopic> topics) {
    return topics.size() == 1
        ? "topic " + topics.get(0).name()
        : topics.size() + " topics from " + topics.get(0).name();
  }
}
