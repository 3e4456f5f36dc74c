package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.engine.figures.Counters;
import io.tidegauge.worker.engine.figures.Recorder;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.figures.WindowedHistogram;

/** What one consumer counted. Written by the consumer's thread. */
public final class ReceiveRecorder extends Recorder {
  public static final int RECEIVED = 0;
  public static final int RECEIVED_BYTES = 1;
  public static final int UNIQUE = 2;
  public static final int DUPLICATED = 3;
  public static final int REORDERED = 4;
  public static final int CORRUPT = 5;
  public static final int CORRUPT_UNATTRIBUTED = 6;
  public static final int FOREIGN = 7;
  public static final int NEGATIVE_LATENCY = 8;
  public static final int WINDOW_RECEIVED = 9;
  private static final int SIZE = 10;

  private final Counters counters = new Counters(SIZE);
  private final WindowedHistogram endToEnd = new WindowedHistogram();

  void count(int counter) {
    counters.add(counter, 1);
  }

  void arrived(int bytes) {
    counters.add(RECEIVED, 1);
    counters.add(RECEIVED_BYTES, bytes);
  }

  /** A message seen for the first time. */
  void unique(Window latest, long intendedNs, long receivedNs) {
    Window window = adopt(latest);
    boolean measured = window.contains(intendedNs);
    long latencyNs = receivedNs - intendedNs;
    counters.add(UNIQUE, 1);
    if (measured) {
      counters.add(WINDOW_RECEIVED, 1);
    }
    if (latencyNs < 0) {
      counters.add(NEGATIVE_LATENCY, 1);
      latencyNs = 0;
    }
    endToEnd.record(measured, latencyNs);
  }

  @Override
  protected void beginWindow(int newEpoch) {
    counters.set(WINDOW_RECEIVED, 0);
    endToEnd.begin(newEpoch);
  }

  public long get(int counter) {
    return counters.get(counter);
  }

  public WindowedHistogram endToEnd() {
    return endToEnd;
  }
}
