package io.tidegauge.worker.engine;

/**
 * Takes sets of sequences in Roaring's portable 64-bit format, one after the other. May block until
 * there is room for the next one.
 */
public interface SequencesSink {
  /**
   * A producer of this worker sent the sequences 0 to {@code sent - 1}.
   *
   * @param unknown those of them that failed or have no outcome. A large set comes in several calls
   *     for the same producer; it is their union.
   */
  void sent(int producer, long sent, byte[] unknown) throws InterruptedException;

  /**
   * A subscription received sequences of a producer, whosever it is.
   *
   * @param received as {@code unknown} above
   */
  void received(String subscription, int producer, byte[] received) throws InterruptedException;
}
