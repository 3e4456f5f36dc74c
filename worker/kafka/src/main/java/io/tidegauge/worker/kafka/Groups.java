package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;

/** Consumer groups: finds and deletes them, and says where a new one begins. */
final class Groups {
  private final Admin admin;
  private final int timeoutMs;

  Groups(Admin admin, int timeoutMs) {
    this.admin = admin;
    this.timeoutMs = timeoutMs;
  }

  /**
   * A group that has no member yet begins after the newest message of each partition, whenever its
   * members come and however they share the partitions.
   */
  void beginAtEnd(String group, ConsumerSpec spec) throws DriverException {
    Map<TopicPartition, OffsetSpec> question = new HashMap<>();
    for (int partition = 0; partition < spec.partitions(); partition++) {
      question.put(new TopicPartition(spec.topic(), partition), OffsetSpec.latest());
    }
    Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
    for (Map.Entry<TopicPartition, ListOffsetsResultInfo> end :
        Failures.await(
                admin.listOffsets(question).all(), "report the end of " + spec.topic(), timeoutMs)
            .entrySet()) {
      ends.put(end.getKey(), new OffsetAndMetadata(end.getValue().offset()));
    }
    Failures.await(
        admin.alterConsumerGroupOffsets(group, ends).all(),
        "let group " + group + " begin at the end",
        timeoutMs);
  }

  /** The offset committed in each partition by number; those without one are left out. */
  Map<Integer, Long> committed(String group) throws DriverException {
    Map<Integer, Long> found = new TreeMap<>();
    Map<TopicPartition, OffsetAndMetadata> committed =
        Failures.await(
            admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata(),
            "report the positions of group " + group,
            timeoutMs);
    for (Map.Entry<TopicPartition, OffsetAndMetadata> one : committed.entrySet()) {
      if (one.getValue() != null) {
        found.put(one.getKey().partition(), one.getValue().offset());
      }
    }
    return found;
  }

  /** Adds the groups with such a name; none that we have no right to see. */
  void find(Predicate<String> named, GroupsOfTopics.ByKind to) throws DriverException {
    Collection<GroupListing> groups;
    try {
      groups = Failures.await(admin.listGroups().valid(), "list its groups", timeoutMs);
    } catch (AccessException e) {
      return;
    }
    for (GroupListing group : groups) {
      if (named.test(group.groupId())) {
        to.add(group.groupId(), group.type().filter(type -> type == GroupType.SHARE).isPresent());
      }
    }
  }

  /** Deletes those of the groups that exist and are empty. */
  void delete(Collection<String> groups) throws DriverException {
    for (Map.Entry<String, KafkaFuture<Void>> answer :
        admin.deleteConsumerGroups(groups).deletedGroups().entrySet()) {
      try {
        Failures.await(answer.getValue(), "delete group " + answer.getKey(), timeoutMs);
      } catch (DriverException e) {
        Throwable cause = Failures.root(e.getCause());
        if (cause instanceof GroupNotEmptyException) {
          deleteWithMembers(answer.getKey());
        } else if (!(cause instanceof GroupIdNotFoundException)) {
          throw e;
        }
      }
    }
  }

  /** A member whose process was killed counts as one until its session ends, after 45 s. */
  private void deleteWithMembers(String group) {
    try {
      RemoveMembersFromConsumerGroupOptions all = new RemoveMembersFromConsumerGroupOptions();
      Failures.await(
          admin.removeMembersFromConsumerGroup(group, all).all(),
          "take the members out of group " + group,
          timeoutMs);
      Failures.await(
          admin.deleteConsumerGroups(List.of(group)).all(), "delete group " + group, timeoutMs);
    } catch (DriverException e) {
      // A member is on its way out; the group without its topic is of no use to anyone and
      // expires.
    }
  }
}
