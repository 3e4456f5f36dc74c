package io.tidegauge.worker.api;

/**
 * How far a partition was read back.
 *
 * @param complete whether all was read that was there when reading began
 * @param why what kept it from that; of one that is complete since the servers have no such
 *     partition any more, how they say so; else empty
 * @param first where reading began, in the system's own words; empty if it has none
 * @param end where the partition ended when reading began, likewise
 */
public record PartitionRead(
    int topic,
    int partition,
    long messages,
    boolean complete,
    String why,
    String first,
    String end) {

  /** The same, but not to be relied on. */
  public PartitionRead doubted(String reason) {
    return new PartitionRead(topic, partition, messages, false, reason, first, end);
  }

  /** What is known instead where the servers say that they have it no more. */
  public PartitionRead gone(String words) {
    return new PartitionRead(topic, partition, 0, true, words, "", "");
  }
}
