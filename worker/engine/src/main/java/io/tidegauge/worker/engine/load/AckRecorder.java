package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.engine.figures.Counters;
import io.tidegauge.worker.engine.figures.Recorder;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.figures.WindowedHistogram;
import io.tidegauge.worker.engine.os.TaskClock;

/** What one thread that tells outcomes has recorded. */
public final class AckRecorder extends Recorder {
  public static final int ACKED = 0;
  public static final int FAILED = 1;
  public static final int WINDOW_ACKED = 2;
  public static final int WINDOW_FAILED = 3;
  public static final int WINDOW_ACKED_WITHIN = 4;
  private static final int SIZE = 5;

  final Thread thread = Thread.currentThread();
  final TaskClock clock = TaskClock.ofCurrentThread();
  private final Counters counters = new Counters(SIZE);
  private final WindowedHistogram response = new WindowedHistogram();
  private final WindowedHistogram service = new WindowedHistogram();

  void acked(Window latest, long intendedNs, long sentNs, long nowNs) {
    Window window = adopt(latest);
    counters.add(ACKED, 1);
    boolean measured = window.contains(intendedNs);
    if (measured) {
      counters.add(WINDOW_ACKED, 1);
    }
    if (window.contains(nowNs)) {
      counters.add(WINDOW_ACKED_WITHIN, 1);
    }
    response.record(measured, nowNs - intendedNs);
    service.record(measured, nowNs - sentNs);
  }

  void failed(Window latest, long intendedNs) {
    Window window = adopt(latest);
    counters.add(FAILED, 1);
    if (window.contains(intendedNs)) {
      counters.add(WINDOW_FAILED, 1);
    }
  }

  @Override
  protected void beginWindow(int newEpoch) {
    counters.set(WINDOW_ACKED, 0);
    counters.set(WINDOW_FAILED, 0);
    counters.set(WINDOW_ACKED_WITHIN, 0);
    response.begin(newEpoch);
    service.begin(newEpoch);
  }

  public long get(int counter) {
    return counters.get(counter);
  }

  public WindowedHistogram response() {
    return response;
  }

  public WindowedHistogram service() {
    return service;
  }
}
