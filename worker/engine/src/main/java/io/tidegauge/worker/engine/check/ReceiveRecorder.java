package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.engine.figures.Counters;
import io.tidegauge.worker.engine.figures.Recorder;
import io.tidegauge.worker.engine.figures.Records;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.figures.WindowedHistogram;
import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

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

  /** Spent processing, inside the window. */
  public static final int PROCESSING_NS = 13;

  /** CPU time of it. */
  public static final int PROCESSING_CPU_NS = 14;

  private static final int SIZE = 15;

  /**
   * Of a message without a time, or of one that has it by a clock of which bounds are known only.
   */
  static final long UNKNOWN_NS = Long.MIN_VALUE;

  private final Counters counters = new Counters(SIZE);
  private final WindowedHistogram endToEnd = new WindowedHistogram();

  /** Null where messages are not processed, as the next. */
  private final WindowedHistogram inConsumer;

  private final WindowedHistogram processed;
  private final Handovers handovers;

  /** Of workers on other hosts, by their numbers; null until their first message. */
  private volatile ApartRecorder[] apart = {};

  ReceiveRecorder(ReceivingThreads threads) {
    this(threads, false);
  }

  /**
   * @param processes whether the consumer processes messages
   */
  ReceiveRecorder(ReceivingThreads threads, boolean processes) {
    handovers = new Handovers(threads);
    inConsumer = processes ? new WindowedHistogram() : null;
    processed = processes ? new WindowedHistogram() : null;
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
    boolean measured = counted(window, intendedNs);
    long latencyNs = receivedNs - intendedNs;
    if (latencyNs < 0) {
      counters.add(NEGATIVE_LATENCY, 1);
      latencyNs = 0;
    }
    endToEnd.record(measured, latencyNs);
    if (measured && window.schedule() != null) {
      records.record(records.at(intendedNs), 0, latencyNs);
    }
  }

  /** The same of one that has no time: it belongs to the window by its receipt. */
  void uniqueUntimed(Window latest, long receivedNs) {
    counted(adopt(latest), receivedNs);
  }

  /**
   * The same of one that a worker on another host sent.
   *
   * @param intendedNs on this host's clock, as far as the other is known
   */
  void uniqueApart(Window latest, long intendedNs, long receivedNs, int worker) {
    Window window = adopt(latest);
    boolean measured = counted(window, intendedNs);
    long latencyNs = receivedNs - intendedNs;
    of(worker, window).record(measured, latencyNs);
    if (measured && window.schedule() != null) {
      records.record(records.at(intendedNs), 0, Math.max(0, latencyNs));
    }
  }

  /**
   * A message has been processed, new or not. It belongs to the window by its intended time, as
   * everywhere; without one by its receipt. What it took belongs to the window as far as the time
   * for which it was processed.
   */
  void processed(
      Window latest, long intendedNs, long receivedNs, long beganNs, long endedNs, long cpuNs) {
    Window window = adopt(latest);
    boolean timed = intendedNs != UNKNOWN_NS;
    boolean measured = window.contains(timed ? intendedNs : receivedNs);
    inConsumer.record(measured, endedNs - receivedNs);
    if (timed) {
      processed.record(measured, Math.max(0, endedNs - intendedNs));
    }
    long insideNs = window.overlapNs(beganNs, endedNs);
    counters.add(PROCESSING_NS, insideNs);
    if (insideNs > 0) {
      counters.add(PROCESSING_CPU_NS, (long) ((double) cpuNs * insideNs / (endedNs - beganNs)));
    }
  }

  private boolean counted(Window window, long intendedNs) {
    boolean measured = window.contains(intendedNs);
    counters.add(UNIQUE, 1);
    if (measured) {
      counters.add(WINDOW_RECEIVED, 1);
    }
    return measured;
  }

  private ApartRecorder of(int worker, Window window) {
    ApartRecorder[] known = apart;
    if (worker < known.length && known[worker] != null) {
      return known[worker];
    }
    ApartRecorder first = new ApartRecorder(worker, window);
    ApartRecorder[] more = Arrays.copyOf(known, Math.max(known.length, worker + 1));
    more[worker] = first;
    apart = more;
    return first;
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
    counters.set(PROCESSING_NS, 0);
    counters.set(PROCESSING_CPU_NS, 0);
    endToEnd.begin(next.epoch());
    if (inConsumer != null) {
      inConsumer.begin(next.epoch());
      processed.begin(next.epoch());
    }
    apart().forEach(each -> each.begin(next));
    records = Records.of(next, 0, 1);
  }

  /** Which threads handed the messages over. */
  public Handovers handovers() {
    return handovers;
  }

  @Override
  public long get(int counter) {
    return counters.get(counter);
  }

  /** Adds all of its end-to-end times that are not negative to histograms to be summed. */
  public void addEndToEnd(List<LatencyHistogram> to) {
    endToEnd.addAll(to);
    apart().forEach(each -> each.after().addAll(to));
  }

  /** The same of the window of this epoch. */
  public void addEndToEnd(int windowEpoch, List<LatencyHistogram> to) {
    endToEnd.addInside(windowEpoch, to);
    apart().forEach(each -> each.after().addInside(windowEpoch, to));
  }

  /** Adds its times from receipt to the end of processing in the window of this epoch. */
  public void addInConsumer(int windowEpoch, List<LatencyHistogram> to) {
    if (inConsumer != null) {
      inConsumer.addInside(windowEpoch, to);
    }
  }

  /** Adds its times from the intended time to the end of processing, likewise. */
  public void addProcessed(int windowEpoch, List<LatencyHistogram> to) {
    if (processed != null) {
      processed.addInside(windowEpoch, to);
    }
  }

  /** Of workers on other hosts, each by itself. */
  public List<ApartRecorder> apart() {
    return Arrays.stream(apart).filter(Objects::nonNull).toList();
  }
}
