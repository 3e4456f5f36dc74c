package io.tidegauge.worker.engine.figures;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a thread recorded before it knew of the window is none of the window's. */
class EpochTest {
  @Test
  void onlyWhatWasRecordedInTheWindowIsInside() {
    WindowedHistogram latencies = new WindowedHistogram();
    latencies.record(true, 5);
    assertThat(inside(latencies, 3)).isEmpty();
    latencies.begin(3);
    assertThat(inside(latencies, 3)).hasSize(1);
    assertThat(inside(latencies, 4)).isEmpty();
  }

  private static List<LatencyHistogram> inside(WindowedHistogram latencies, int epoch) {
    List<LatencyHistogram> parts = new ArrayList<>();
    latencies.addInside(epoch, parts);
    return parts;
  }
}
