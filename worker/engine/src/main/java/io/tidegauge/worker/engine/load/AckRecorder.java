package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.engine.figures.Counters;
import io.tidegauge.worker.engine.figures.Recorder;
import io.tidegauge.worker.engine.figures.Records;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.figures.WindowedHistogram;
import io.tidegauge.worker.engine.os.TaskClock;

/** What one thread that reports outcomes has recorded. */
public final class AckRecorder extends Recorder {
  public static final int ACKED = 0;
  public static final int FAILED = 1;
  public static final int WINDOW_ACKED = 2;
  public static final int WINDOW_FAILED = 3;
  public static final int WINDOW_ACKED_WITHIN = 4;

  /** When the last outcome of a message of the window came; 0 without one. */
  public static final int WINDOW_LAST_NS = 5;

  /** Of values; counted only where these are of several sizes. */
  public static final int ACKED_BYTES = 6;

  public static final int WINDOW_ACKED_BYTES = 7;

  private static final int SIZE = 8;

  /** Counters of a schedule's record. */
  public static final int RECORD_ACKED = 0;

  public static final int RECORD_FAILED = 1;
  public static final int RECORD_ACKED_WITHIN = 2;
  private static final int RECORD_SIZE = 3;

  /** Latencies of a schedule's record. */
  public static final int RECORD_RESPONSE = 0;

  public static final int RECORD_SERVICE = 1;

  final Thread thread = Thread.currentThread();
  final TaskClock clock = TaskClock.ofCurrentThread();
  private final Counters counters = new Counters(SIZE);
  private final WindowedHistogram response = new WindowedHistogram();
  private final WindowedHistogram service = new WindowedHistogram();

  /**
   * @param bytes of the value; 0 where all are alike
   */
  void acked(Window latest, long intendedNs, long sentNs, long nowNs, int bytes) {
    Window window = adopt(latest);
    counters.add(ACKED, 1);
    boolean measured = window.contains(intendedNs);
    if (measured) {
      counters.add(WINDOW_ACKED, 1);
      counters.set(WINDOW_LAST_NS, nowNs);
    }
    if (window.contains(nowNs)) {
      counters.add(WINDOW_ACKED_WITHIN, 1);
    }
    if (bytes > 0) {
      counters.add(ACKED_BYTES, bytes);
      counters.add(WINDOW_ACKED_BYTES, measured ? bytes : 0);
    }
    response.record(measured, nowNs - intendedNs);
    service.record(measured, nowNs - sentNs);
    if (window.schedule() != null) {
      sort(window, intendedNs, sentNs, nowNs);
    }
  }

  private void sort(Window window, long intendedNs, long sentNs, long nowNs) {
    Records sorted = records;
    if (window.contains(intendedNs)) {
      int record = sorted.at(intendedNs);
      sorted.count(record, RECORD_ACKED);
      sorted.record(record, RECORD_RESPONSE, nowNs - intendedNs);
      sorted.record(record, RECORD_SERVICE, nowNs - sentNs);
    }
    if (window.contains(nowNs)) {
      sorted.count(sorted.at(nowNs), RECORD_ACKED_WITHIN);
    }
  }

  void failed(Window latest, long intendedNs) {
    Window window = adopt(latest);
    counters.add(FAILED, 1);
    if (window.contains(intendedNs)) {
      counters.add(WINDOW_FAILED, 1);
      counters.set(WINDOW_LAST_NS, System.nanoTime());
      if (window.schedule() != null) {
        records.count(records.at(intendedNs), RECORD_FAILED);
      }
    }
  }

  @Override
  protected void beginWindow(Window next) {
    counters.set(WINDOW_ACKED, 0);
    counters.set(WINDOW_FAILED, 0);
    counters.set(WINDOW_ACKED_WITHIN, 0);
    counters.set(WINDOW_LAST_NS, 0);
    counters.set(WINDOW_ACKED_BYTES, 0);
    response.begin(next.epoch());
    service.begin(next.epoch());
    records = Records.of(next, RECORD_SIZE, 2);
  }

  @Override
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
