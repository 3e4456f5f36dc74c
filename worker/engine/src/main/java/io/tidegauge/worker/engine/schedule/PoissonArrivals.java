package io.tidegauge.worker.engine.schedule;

import java.util.SplittableRandom;

/**
 * Independent exponential gaps, seeded for each producer: the same seed gives the same arrivals.
 * All producers together are a Poisson process of the total rate.
 */
public final class PoissonArrivals implements Arrivals {
  private final SplittableRandom random;
  private final int producers;
  private double units;

  public PoissonArrivals(long seed, int producer, int producers) {
    this.random = new SplittableRandom(seed ^ (0x9E3779B97F4A7C15L * (producer + 1)));
    this.producers = producers;
  }

  @Override
  public double next() {
    // StrictMath: the same bits on every machine.
    units -= StrictMath.log(1 - random.nextDouble()) * producers;
    return units;
  }

  @Override
  public int producers() {
    return producers;
  }

  @Override
  public double peek(long ahead) {
    return ahead == 0 ? units : Double.NaN;
  }
}
