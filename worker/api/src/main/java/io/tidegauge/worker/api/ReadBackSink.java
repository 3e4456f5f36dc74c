package io.tidegauge.worker.api;

/** Is given what was found when a topic is read back, each partition in its order of delivery. */
@FunctionalInterface
public interface ReadBackSink {
  /**
   * A message was found.
   *
   * @param position in the partition, as the system has it; larger is later
   * @param within its place among the messages that share the position (a batch); else 0
   * @param value whole message value; only valid during the call
   */
  void found(int topic, int partition, long position, int within, byte[] value);
}
