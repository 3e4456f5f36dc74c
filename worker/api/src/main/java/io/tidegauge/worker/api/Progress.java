package io.tidegauge.worker.api;

/** Is given how far a slow preparation has come. */
@FunctionalInterface
public interface Progress {
  /** For whoever does not care. */
  Progress NONE = (what, done, total) -> {};

  /**
   * So many of a kind are ready.
   *
   * @param what "topics", "partitions", "consumers", "producers"
   */
  void at(String what, long done, long total);
}
