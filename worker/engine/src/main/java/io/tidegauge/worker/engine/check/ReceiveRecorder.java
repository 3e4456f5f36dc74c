package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.engine.figures.Counters;
import io.tidegauge.worker.engine.figures.Recorder;
import io.tidegauge.worker.engine.figures.Records;
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

  /** Messages of others whose checksums could be verified, and when the window's were received. */
  public static final int VERIFIED = 10;

  public static final int FIRST_RECEIVED_NS = 11;
  public static final int LAST_RECEIVED_NS = 12;
  private static final int SIZE = 13;

  private final Counters counters = new Counters(SIZE);
  private final WindowedHistogram endToEnd = new WindowedHistogram();
  private final Handovers handovers;
  private volatile Records records = Records.of(Window.NONE, 0, 0);

  ReceiveRecorder(ReceivingThreads threads) {
    handovers = new Handovers(threads);
  }

  void count(int counter) {
    counters.add(counter, 1);
  }

  void arrived(int bytes) {
    handovers.arrived(counters.own(RECEIVED));
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
    if (measured && window.schedule() != null) {
      records.record(records.at(intendedNs), 0, latencyNs);
    }
  }

  /** A message that others made has arrived: it belongs to the window by its receipt. */
  void foreign(Window latest, long receivedNs) {
    if (adopt(latest).contains(receivedNs)) {
      counters.add(WINDOW_RECEIVED, 1);
      if (counters.own(FIRST_RECEIVED_NS) == 0) {
        counters.set(FIRST_RECEIVED_NS, receivedNs);
      }
      counters.set(LAST_RECEIVED_NS, receivedNs);
    }
  }

  @Override
  protected void beginWindow(Window next) {
    counters.set(WINDOW_RECEIVED, 0);
    counters.set(FIRST_RECEIVED_NS, 0);
    counters.set(LAST_RECEIVED_NS, 0);
    endToEnd.begin(next.epoch());
    records = Records.of(next, 0, 1);
  }

  /** End to end of the window's schedule. */
  public Records records() {
    return records;
  }

  /** Which threads handed the messages over. */
  public Handovers handovers() {
    return handovers;
  }

  public long get(int counter) {
    return counters.get(counter);
  }

  public WindowedHistogram endToEnd() {
    return endToEnd;
  }
}
