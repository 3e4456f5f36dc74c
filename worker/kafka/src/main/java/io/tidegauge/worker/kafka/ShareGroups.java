package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.SubscriptionType;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.FinalizedVersionRange;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ShareGroupDescription;
import org.apache.kafka.clients.admin.SharePartitionOffsetInfo;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;

/**
 * Share groups: consumers that take the messages of any partition, each acknowledged by itself.
 * Ready for production since Kafka 4.2 (KIP-932).
 */
final class ShareGroups {
  private static final String FEATURE = "share.version";
  private static final String OFFSET_RESET = "share.auto.offset.reset";
  private static final long POLL_INTERVAL_MS = 50;

  private final Admin admin;
  private final int timeoutMs;

  ShareGroups(Admin admin, int timeoutMs) {
    this.admin = admin;
    this.timeoutMs = timeoutMs;
  }

  /** Refuses clusters that have none. */
  void require() throws DriverException {
    FinalizedVersionRange found =
        Failures.await(admin.describeFeatures().featureMetadata(), "report its features", timeoutMs)
            .finalizedFeatures()
            .get(FEATURE);
    if (found == null || found.maxVersionLevel() < 1) {
      throw SubscriptionType.SHARED.lacking(
          "This Kafka",
          "share groups are ready for production from 4.2 on, and "
              + FEATURE
              + " is not enabled here; failover has Kafka's ordinary groups");
    }
  }

  /** Says where a group begins that does not exist yet. Without, it would begin at the end. */
  void begin(String group, boolean fromEnd) throws DriverException {
    set(group, new ConfigEntry(OFFSET_RESET, fromEnd ? "latest" : "earliest"), "begin");
  }

  private void set(String group, ConfigEntry entry, String what) throws DriverException {
    AlterConfigOp.OpType type =
        entry.value() == null ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET;
    ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
    Failures.await(
        admin
            .incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(entry, type))))
            .all(),
        "let group " + group + " " + what,
        timeoutMs);
  }

  /**
   * Returns once so many members have partitions and, of a group that begins at the end, every
   * partition has its beginning: what is sent from now on is delivered.
   */
  void await(String group, int members, ConsumerSpec spec) throws DriverException {
    long untilNs = System.nanoTime() + timeoutMs * 1_000_000L;
    while (!(hasMembers(group, members) && (!spec.fromEnd() || hasBegun(group, spec)))) {
      if (System.nanoTime() > untilNs) {
        throw new DriverException(
            "Kafka gave the consumers of share group "
                + group
                + " no partitions within "
                + timeoutMs
                + " ms");
      }
      Failures.pause(POLL_INTERVAL_MS, "wait for share group " + group);
    }
  }

  private boolean hasMembers(String group, int members) throws DriverException {
    KafkaFuture<ShareGroupDescription> answer =
        admin.describeShareGroups(List.of(group)).describedGroups().get(group);
    ShareGroupDescription found =
        Failures.awaitUnless(
            GroupIdNotFoundException.class, answer, "describe group " + group, timeoutMs);
    if (found == null) {
      return false;
    }
    return found.members().stream()
            .filter(member -> !member.assignment().topicPartitions().isEmpty())
            .count()
        >= members;
  }

  private boolean hasBegun(String group, ConsumerSpec spec) throws DriverException {
    Map<TopicPartition, SharePartitionOffsetInfo> begun =
        Failures.await(
            admin
                .listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec()))
                .partitionsToOffsetInfo(group),
            "report where group " + group + " begins",
            timeoutMs);
    return begun.values().stream().filter(info -> info != null && info.startOffset() >= 0).count()
        >= spec.partitions();
  }

  /** Deletes those of the groups that exist, with what was said of them. */
  void delete(Collection<String> groups) throws DriverException {
    for (Map.Entry<String, KafkaFuture<Void>> answer :
        admin.deleteShareGroups(groups).deletedGroups().entrySet()) {
      String what = "delete share group " + answer.getKey();
      Failures.awaitUnless(GroupIdNotFoundException.class, answer.getValue(), what, timeoutMs);
      set(answer.getKey(), new ConfigEntry(OFFSET_RESET, null), "be forgotten");
    }
  }
}
