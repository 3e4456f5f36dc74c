package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.engine.figures.Counters;
import io.tidegauge.worker.engine.figures.Recorder;
import io.tidegauge.worker.engine.figures.Records;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.figures.WindowedHistogram;

/** What one load thread has recorded about the messages that it sent. */
public final class LoadRecorder extends Recorder {
  public static final int SENT = 0;
  public static final int BLOCKED_NS = 1;
  public static final int WINDOW_INTENDED = 2;
  public static final int WINDOW_BLOCKED_NS = 3;
  public static final int WINDOW_OWN_LAG_OVER = 4;
  private static final int SECOND = 5;
  private static final int LAG_MAX = 6;
  private static final int LAG_SECONDS = 4;
  private static final int SIZE = LAG_MAX + LAG_SECONDS;

  /** Counter and latency of a schedule's record. */
  public static final int RECORD_INTENDED = 0;

  public static final int RECORD_DELAY = 0;
  private static final long SECOND_NS = 1_000_000_000L;

  private final Counters counters = new Counters(SIZE);
  private final WindowedHistogram delay = new WindowedHistogram();
  private final WindowedHistogram ownLag = new WindowedHistogram();
  private final long toleranceNs;
  private volatile long startNs;
  private long second;
  private long secondEndNs = Long.MAX_VALUE;

  LoadRecorder(long toleranceNs) {
    this.toleranceNs = toleranceNs;
  }

  void start(long ns) {
    startNs = ns;
    secondEndNs = ns + SECOND_NS;
  }

  void sending(Window latest, long intendedNs, long nowNs, long lagNs) {
    Window window = adopt(latest);
    boolean measured = window.contains(intendedNs);
    counters.add(SENT, 1);
    delay.record(measured, nowNs - intendedNs);
    ownLag.record(measured, lagNs);
    if (measured) {
      counters.add(WINDOW_INTENDED, 1);
      if (lagNs > toleranceNs) {
        counters.add(WINDOW_OWN_LAG_OVER, 1);
      }
      if (window.schedule() != null) {
        int record = records.at(intendedNs);
        records.count(record, RECORD_INTENDED);
        records.record(record, RECORD_DELAY, nowNs - intendedNs);
      }
    }
    if (nowNs >= secondEndNs) {
      beginSecond(nowNs);
    }
    int cell = LAG_MAX + (int) (second & (LAG_SECONDS - 1));
    if (lagNs > counters.own(cell)) {
      counters.set(cell, lagNs);
    }
  }

  private void beginSecond(long nowNs) {
    long reached = (nowNs - startNs) / SECOND_NS;
    for (long s = Math.max(second + 1, reached - LAG_SECONDS + 1); s <= reached; s++) {
      counters.set(LAG_MAX + (int) (s & (LAG_SECONDS - 1)), 0);
    }
    second = reached;
    counters.set(SECOND, reached);
    secondEndNs = startNs + (reached + 1) * SECOND_NS;
  }

  void blocked(Window latest, long fromNs, long untilNs) {
    Window window = adopt(latest);
    counters.add(BLOCKED_NS, untilNs - fromNs);
    counters.add(WINDOW_BLOCKED_NS, window.overlapNs(fromNs, untilNs));
  }

  /** Messages in the window that were due before the stop and could not be sent any more. */
  void neverSent(Window latest, long inWindow) {
    adopt(latest);
    counters.add(WINDOW_INTENDED, inWindow);
  }

  @Override
  protected void beginWindow(Window next) {
    counters.set(WINDOW_INTENDED, 0);
    counters.set(WINDOW_BLOCKED_NS, 0);
    counters.set(WINDOW_OWN_LAG_OVER, 0);
    delay.begin(next.epoch());
    ownLag.begin(next.epoch());
    records = Records.of(next, 1, 1);
  }

  @Override
  public long get(int counter) {
    return counters.get(counter);
  }

  /**
   * Largest own lag in the whole seconds from the start that an interval of the last few seconds
   * covers, its ends rounded to whole seconds.
   */
  public long ownLagNsMax(long fromNs, long untilNs) {
    long newest = counters.get(SECOND);
    long first = Math.max(wholeSeconds(fromNs), newest - LAG_SECONDS + 1);
    long last = Math.min(Math.max(first, wholeSeconds(untilNs) - 1), newest);
    long max = 0;
    for (long s = first; s <= last; s++) {
      max = Math.max(max, counters.get(LAG_MAX + (int) (s & (LAG_SECONDS - 1))));
    }
    return max;
  }

  private long wholeSeconds(long ns) {
    return Math.max(0, ns - startNs + SECOND_NS / 2) / SECOND_NS;
  }

  public WindowedHistogram delay() {
    return delay;
  }

  public WindowedHistogram ownLag() {
    return ownLag;
  }
}
