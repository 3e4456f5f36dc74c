package io.tidegauge.worker.engine;

import java.util.List;

/**
 * One worker's part of a trial that several carry out together. The trial's producers, in the order
 * of their numbers, and after them its consumers are dealt out one by one; so are its topics.
 *
 * @param worker number of this worker, from 0
 * @param workers how many there are
 * @param aheadNs by how much each one's clock is ahead of this one's, 0 if it is the same; empty if
 *     all are on one
 */
public record Share(int worker, int workers, List<Long> aheadNs) {
  /** All of the trial. */
  public static final Share WHOLE = new Share(0, 1);

  /** On one clock with all others. */
  public Share(int worker, int workers) {
    this(worker, workers, List.of());
  }

  /**
   * Throws {@link IllegalArgumentException} if there is no such worker, or not a clock for each.
   */
  public Share {
    aheadNs = List.copyOf(aheadNs);
    if (!aheadNs.isEmpty() && aheadNs.size() != workers) {
      throw new IllegalArgumentException(
          "of " + workers + " workers the clocks of " + aheadNs.size() + " are given");
    }
    if (worker < 0 || worker >= workers) {
      throw new IllegalArgumentException(
          "there is no worker " + worker + " among " + workers + ", counted from 0");
    }
  }

  /** Whether this worker is the only one. */
  public boolean isWhole() {
    return workers == 1;
  }

  /** Whether this worker creates the topic. */
  public boolean hasTopic(int topic) {
    return isMine(topic);
  }

  /** Whether this worker has the producer. */
  public boolean hasProducer(int producer) {
    return isMine(producer);
  }

  /**
   * Whether this worker has the consumer.
   *
   * @param producers of the whole trial
   */
  public boolean hasConsumer(int producers, int consumer) {
    return isMine((long) producers + consumer);
  }

  /** The worker that has a producer. */
  public int workerOf(int producer) {
    return producer % workers;
  }

  private boolean isMine(long place) {
    return place % workers == worker;
  }
}
