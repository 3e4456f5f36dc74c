package io.tidegauge.worker.engine.schedule;

/**
 * When the messages of one producer are due, in units of the total load (see {@link RateProfile}).
 * Never decreases.
 */
public interface Arrivals {
  /** Position of the next message. */
  double next();

  /**
   * Position of the message {@code ahead} after the one that {@link #next} gave last, without
   * moving on; NaN if that can't be known without drawing all in between.
   */
  double peek(long ahead);

  /** How many producers share the load. */
  int producers();
}
