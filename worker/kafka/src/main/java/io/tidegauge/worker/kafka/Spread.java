package io.tidegauge.worker.kafka;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Lays out the partitions of several topics by turns over the brokers, so that each leads as many
 * as the others. Kafka itself begins every topic on a broker drawn at random: ten topics of one
 * partition each may well be led by one broker.
 */
final class Spread {
  private final List<Integer> brokers;
  private int next;

  /** {@code brokers} are their ids; they take turns in this order. */
  Spread(List<Integer> brokers) {
    this.brokers = List.copyOf(brokers);
  }

  /** Whether so many copies can be laid out: no more than brokers. */
  boolean canHold(int copies) {
    return copies <= brokers.size();
  }

  /** The brokers of each partition of the next topic, the one to lead it first. */
  Map<Integer, List<Integer>> place(int partitions, int copies) {
    Map<Integer, List<Integer>> placed = new HashMap<>();
    for (int partition = 0; partition < partitions; partition++) {
      List<Integer> replicas = new ArrayList<>();
      for (int copy = 0; copy < copies; copy++) {
        replicas.add(brokers.get((next + copy) % brokers.size()));
      }
      placed.put(partition, replicas);
      next = (next + 1) % brokers.size();
    }
    return placed;
  }
}
