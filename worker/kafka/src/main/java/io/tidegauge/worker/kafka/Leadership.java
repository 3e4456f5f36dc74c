package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.ReadBackSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.ElectionNotNeededException;

/**
 * Makes one broker lead all partitions of a topic, since consumers are given what leaders have. The
 * copies stay where they are; only their order changes, whose first is the preferred leader. Kafka
 * takes a broker for that only if it is in sync, so what all have acknowledged is not cut off.
 */
final class Leadership {
  private static final long POLL_MS = 50;

  private final Admin admin;
  private final int timeoutMs;
  private final ReadBackSpec spec;
  private final int broker;

  Leadership(Admin admin, int timeoutMs, ReadBackSpec spec, int broker) {
    this.admin = admin;
    this.timeoutMs = timeoutMs;
    this.spec = spec;
    this.broker = broker;
  }

  /**
   * Returns when the broker leads and all copies are in sync.
   *
   * @return what was still missing at the deadline; "" if nothing was
   * @throws IllegalArgumentException if the broker has no copy of a partition
   */
  String take() throws InterruptedException {
    while (true) {
      String missing = step();
      if (missing.isEmpty() || spec.leftMs() == 0) {
        return missing;
      }
      Thread.sleep(POLL_MS);
    }
  }

  /** Asks for what is missing yet. What a cluster refuses that is busy, it may grant later. */
  private String step() {
    try {
      List<TopicPartitionInfo> others = new ArrayList<>();
      String missing = "";
      for (TopicPartitionInfo partition : described().partitions()) {
        requireCopy(partition);
        if (partition.leader() == null || partition.leader().id() != broker) {
          others.add(partition);
          missing = "broker " + broker + " does not lead partition " + partition.partition();
        } else if (partition.isr().size() < partition.replicas().size()) {
          missing = "not all copies of partition " + partition.partition() + " are in sync";
        }
      }
      if (!others.isEmpty()) {
        prefer(others);
        elect(others);
      }
      return missing;
    } catch (DriverException e) {
      return e.getMessage();
    }
  }

  private TopicDescription described() throws DriverException {
    return Failures.await(
        admin.describeTopics(List.of(spec.topic())).topicNameValues().get(spec.topic()),
        "describe " + spec.topic(),
        waitMs());
  }

  private void requireCopy(TopicPartitionInfo partition) {
    if (partition.replicas().stream().noneMatch(node -> node.id() == broker)) {
      throw new IllegalArgumentException(
          "broker " + broker + " has no copy of " + spec.topic() + "-" + partition.partition());
    }
  }

  /** Puts the broker first. */
  private void prefer(List<TopicPartitionInfo> partitions) throws DriverException {
    Map<TopicPartition, Optional<NewPartitionReassignment>> orders = new HashMap<>();
    for (TopicPartitionInfo partition : partitions) {
      List<Integer> copies = new ArrayList<>(partition.replicas().stream().map(Node::id).toList());
      if (copies.get(0) != broker) {
        copies.remove((Integer) broker);
        copies.add(0, broker);
        orders.put(of(partition), Optional.of(new NewPartitionReassignment(copies)));
      }
    }
    if (!orders.isEmpty()) {
      Failures.await(
          admin.alterPartitionReassignments(orders).all(),
          "prefer broker " + broker + " for " + spec.topic(),
          waitMs());
    }
  }

  private void elect(List<TopicPartitionInfo> partitions) throws DriverException {
    Set<TopicPartition> chosen = new HashSet<>();
    partitions.forEach(partition -> chosen.add(of(partition)));
    String what = "let broker " + broker + " lead " + spec.topic();
    for (Optional<Throwable> refused :
        Failures.await(
                admin.electLeaders(ElectionType.PREFERRED, chosen).partitions(), what, waitMs())
            .values()) {
      // It leads already, and whoever described the topic had not heard of it.
      if (refused.isPresent() && !(refused.get() instanceof ElectionNotNeededException)) {
        throw Failures.describe(what, refused.get());
      }
    }
  }

  private TopicPartition of(TopicPartitionInfo partition) {
    return new TopicPartition(spec.topic(), partition.partition());
  }

  private long waitMs() {
    return Math.max(1, Math.min(timeoutMs, spec.leftMs()));
  }
}
