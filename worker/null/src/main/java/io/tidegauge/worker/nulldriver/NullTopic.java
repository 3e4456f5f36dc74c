package io.tidegauge.worker.nulldriver;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A topic: its subscriptions, each with its consumers, among whom the partitions are shared out.
 */
final class NullTopic {
  final int partitions;
  private final Map<String, List<NullConsumer>> subscriptions = new LinkedHashMap<>();

  NullTopic(int partitions) {
    this.partitions = partitions;
  }

  synchronized void add(String subscription, NullConsumer consumer) {
    subscriptions.computeIfAbsent(subscription, s -> new ArrayList<>()).add(consumer);
  }

  /**
   * The ways from a new producer to the consumers there are now: by partition, one for each
   * subscription.
   */
  synchronized Way[][] ways(int messageBytes, long backlogBytesMax) {
    Way[][] ways = new Way[partitions][subscriptions.size()];
    int s = 0;
    for (List<NullConsumer> consumers : subscriptions.values()) {
      Way[] toConsumer = new Way[consumers.size()];
      for (int c = 0; c < toConsumer.length; c++) {
        NullConsumer consumer = consumers.get(c);
        toConsumer[c] = new Way(consumer.newQueue(messageBytes, backlogBytesMax), consumer);
      }
      for (int p = 0; p < partitions; p++) {
        ways[p][s] = toConsumer[p % toConsumer.length];
      }
      s++;
    }
    return ways;
  }

  /** A queue and the consumer to wake. */
  record Way(ChunkQueue queue, NullConsumer consumer) {}
}
