package io.tidegauge.worker.engine.schedule;

/**
 * When the messages of one producer are due, in units of the total load (see {@link RateProfile}).
 * Never decreases.
 */
public interface Arrivals {
  /** Position of the next message. */
  double next();
}
