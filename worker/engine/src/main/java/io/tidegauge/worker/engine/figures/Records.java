package io.tidegauge.worker.engine.figures;

import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import java.util.List;

/**
 * What one thread recorded of the measured window, sorted by the records of a schedule: counters
 * and latencies of each. Written by the owner, read by any thread. Histograms are made for the
 * first message of a record, never for each message.
 */
public final class Records {
  static final Records NONE = new Records(null, 0, 0);

  private final Window window;
  private final int counters;
  private final Counters counts;
  private final LatencyHistogram[][] latencies;

  private Records(Window window, int counters, int series) {
    this.window = window;
    this.counters = counters;
    int records = window == null ? 0 : window.records();
    this.counts = new Counters(records * counters);
    this.latencies = new LatencyHistogram[series][];
    for (int s = 0; s < series; s++) {
      latencies[s] = new LatencyHistogram[records];
      for (int r = 0; r < records; r++) {
        // Empty, one takes a few hundred bytes.
        latencies[s][r] = new LatencyHistogram();
      }
    }
  }

  /** For a window: nothing at all if it has no schedule. */
  public static Records of(Window window, int counters, int series) {
    return window.records() == 0 ? NONE : new Records(window, counters, series);
  }

  /** The record of an instant of the window. */
  public int at(long ns) {
    return window.recordAt(ns);
  }

  public void count(int record, int counter) {
    counts.add(record * counters + counter, 1);
  }

  public void record(int record, int series, long valueNs) {
    latencies[series][record].record(valueNs);
  }

  public long get(int record, int counter) {
    return window == null ? 0 : counts.get(record * counters + counter);
  }

  /** Adds a record's latencies to a list of histograms to be summed. */
  public void addTo(int record, int series, List<LatencyHistogram> to) {
    if (window != null) {
      to.add(latencies[series][record]);
    }
  }
}
