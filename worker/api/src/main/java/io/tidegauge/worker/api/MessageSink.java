package io.tidegauge.worker.api;

/** Where a consumer delivers. For one consumer, calls never overlap (a single thread at a time). */
public interface MessageSink {
  /**
   * A message has arrived.
   *
   * @param topic index of the topic in the list given to the engine
   * @param partition partition of the topic, from 0
   * @param array holds the value from {@code offset}, {@code length} bytes; only valid during the
   *     call
   * @param receivedMonoNs {@link System#nanoTime()} when the client handed it over; one reading may
   *     serve a whole poll
   */
  void received(
      int topic, int partition, byte[] array, int offset, int length, long receivedMonoNs);

  /**
   * The consumer skipped a message that it could not read because it is damaged. The error itself
   * is reported by {@link #error}.
   */
  default void damaged(int topic, int partition, Throwable cause) {}

  /**
   * The client threw away what servers had delivered, and has done with it: whose messages were in
   * it is not known. From any thread.
   *
   * @param messagesMax how many of the trial's messages can have been in it
   */
  default void discarded(long messagesMax, Throwable cause) {
    error(cause);
  }

  /** The consumer met an error; it goes on if it can. */
  void error(Throwable cause);
}
