package io.tidegauge.worker.api;

import java.util.Map;

/**
 * Whose copy of a topic is read.
 *
 * @param node its number, from 1
 * @param last by partition, the position of the last message that other reads found. A copy that is
 *     complete may learn a little later how far it can be read, so it is given {@link #BEHIND_MS}
 *     to show them.
 */
public record Replica(int node, Map<Integer, Long> last) {
  /**
   * A copy that has shown no more for so long has no more: its followers or its leader are asked
   * many times a second.
   */
  public static final long BEHIND_MS = 10_000;

  /** Where the last message of a partition is known to be; -1 if none is. */
  public long lastOf(int partition) {
    return last.getOrDefault(partition, -1L);
  }
}
