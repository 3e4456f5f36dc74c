package io.tidegauge.worker.drivers;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Which partition a message goes to, and which consumer reads it, of systems that have neither
 * partitioner nor groups that share partitions out: users do both in their applications, here the
 * driver does.
 */
public final class PartitionChooser {
  private final int partitions;
  private int next;

  /**
   * @param first where the round begins, so that producers do not march in step
   */
  public PartitionChooser(int partitions, int first) {
    this.partitions = partitions;
    this.next = Math.floorMod(first, partitions);
  }

  /** By the hash of the key; round robin without one. */
  public int partitionOf(byte[] key) {
    if (partitions == 1) {
      return 0;
    }
    if (key == null) {
      int chosen = next;
      next = chosen + 1 == partitions ? 0 : chosen + 1;
      return chosen;
    }
    // The finishing steps of MurmurHash3: Arrays.hashCode alone leaves similar keys in similar
    // places.
    int hash = Arrays.hashCode(key);
    hash = (hash ^ (hash >>> 16)) * 0x85ebca6b;
    hash = (hash ^ (hash >>> 13)) * 0xc2b2ae35;
    return Math.floorMod(hash ^ (hash >>> 16), partitions);
  }

  /**
   * The partitions of one of several consumers of a subscription: every partition has one reader,
   * as its order needs.
   */
  public static List<Integer> shareOf(int member, int members, int partitions) {
    List<Integer> share = new ArrayList<>();
    for (int partition = member; partition < partitions; partition += members) {
      share.add(partition);
    }
    return share;
  }
}
