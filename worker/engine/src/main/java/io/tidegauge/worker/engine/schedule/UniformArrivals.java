package io.tidegauge.worker.engine.schedule;

/** Every {@code producers}-th unit, offset so that all producers together are evenly spaced. */
public final class UniformArrivals implements Arrivals {
  private final int producers;
  private final int producer;
  private long k;

  public UniformArrivals(int producer, int producers) {
    this.producer = producer;
    this.producers = producers;
  }

  @Override
  public double next() {
    return (double) (k++ * producers + producer);
  }

  @Override
  public int producers() {
    return producers;
  }

  @Override
  public double peek(long ahead) {
    return (double) ((k - 1 + ahead) * producers + producer);
  }
}
