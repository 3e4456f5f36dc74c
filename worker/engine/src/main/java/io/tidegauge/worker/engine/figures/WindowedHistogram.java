package io.tidegauge.worker.engine.figures;

import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import java.util.Arrays;
import java.util.List;

/**
 * One latency of one recording thread, inside and outside the measured window. A value is recorded
 * once; the sum of both parts is the whole trial.
 */
public final class WindowedHistogram {
  private LatencyHistogram inside = new LatencyHistogram();
  private LatencyHistogram outside = new LatencyHistogram();
  private volatile View view = new View(0, inside, new LatencyHistogram[] {outside});

  private record View(int epoch, LatencyHistogram inside, LatencyHistogram[] outside) {}

  /** By the owner only. */
  public void record(boolean measured, long valueNs) {
    (measured ? inside : outside).record(valueNs);
  }

  /** By the owner only: what was inside an earlier window counts as outside from now on. */
  public void begin(int epoch) {
    View old = view;
    LatencyHistogram[] retired = Arrays.copyOf(old.outside, old.outside.length + 1);
    retired[old.outside.length] = inside;
    inside = new LatencyHistogram();
    view = new View(epoch, inside, retired);
  }

  /** Adds all parts to a list of histograms to be summed. */
  public void addAll(List<LatencyHistogram> to) {
    View now = view;
    to.add(now.inside);
    to.addAll(List.of(now.outside));
  }

  /** Adds what belongs to the window of this epoch. */
  public void addInside(int epoch, List<LatencyHistogram> to) {
    View now = view;
    if (now.epoch == epoch) {
      to.add(now.inside);
    }
  }
}
