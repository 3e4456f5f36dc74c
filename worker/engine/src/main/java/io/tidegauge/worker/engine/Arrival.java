package io.tidegauge.worker.engine;

/** How intended send times are spaced. */
public enum Arrival {
  UNIFORM,
  POISSON,
  /** As fast as the in-flight limit lets it go; intended time = sent time. */
  CLOSED_LOOP
}
