package io.tidegauge.worker.api;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A topic to read back, every partition from its very beginning or from where it is said.
 *
 * @param topicIndex the topic's place in the order's list
 * @param settings what the topic was created with
 * @param subscription whose copy is read where each subscription has one of its own
 * @param first whether that is the first subscription of the topic
 * @param existing whether others made the topic and keep it
 * @param last by partition, the position of the last message that is known to be there. Servers may
 *     learn a little later how far they can be read, so it is given {@link #BEHIND_MS} to show up
 *     where whoever reads can't know the end otherwise.
 * @param from by partition, the position at which reading may begin, for systems with positions;
 *     one that is not there any more stands for the next one that is
 * @param gone partitions that the servers are known to have no more: nothing of them is read
 * @param deadlineNs {@link System#nanoTime()} at which reading ends, done or not
 */
public record ReadBackSpec(
    String topic,
    int topicIndex,
    int partitions,
    Map<String, String> settings,
    String subscription,
    boolean first,
    boolean existing,
    Map<Integer, Long> last,
    Map<Integer, Long> from,
    Set<Integer> gone,
    long deadlineNs) {
  /** What has shown no more for so long has no more: nodes ask each other many times a second. */
  public static final long BEHIND_MS = 10_000;

  /** Where reading of a partition may begin; -1 for its beginning. */
  public long fromOf(int partition) {
    return from.getOrDefault(partition, -1L);
  }

  /** Where the last message of a partition is known to be; -1 if none is. */
  public long lastOf(int partition) {
    return last.getOrDefault(partition, -1L);
  }

  /** Milliseconds until the deadline; 0 once it has passed. */
  public long leftMs() {
    return Math.max(0, (deadlineNs - System.nanoTime()) / 1_000_000);
  }

  /** The same words for each partition. */
  public Map<Integer, String> each(String words) {
    return IntStream.range(0, partitions).boxed().collect(Collectors.toMap(p -> p, p -> words));
  }

  /** What is reported of a partition of which nothing could be read. */
  public PartitionRead unread(int partition, String why) {
    return new PartitionRead(topicIndex, partition, 0, false, why, "", "");
  }

  /** What is reported where nothing could be read of any partition. */
  public List<PartitionRead> unread(String why) {
    return IntStream.range(0, partitions).mapToObj(partition -> unread(partition, why)).toList();
  }
}
