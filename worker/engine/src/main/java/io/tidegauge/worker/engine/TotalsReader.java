package io.tidegauge.worker.engine;

import io.tidegauge.worker.engine.check.ApartRecorder;
import io.tidegauge.worker.engine.check.Examples;
import io.tidegauge.worker.engine.check.Losses;
import io.tidegauge.worker.engine.check.ReceiveRecorder;
import io.tidegauge.worker.engine.check.Subscription;
import io.tidegauge.worker.engine.figures.ApartLatency;
import io.tidegauge.worker.engine.figures.Foreign;
import io.tidegauge.worker.engine.figures.RecordFigures;
import io.tidegauge.worker.engine.figures.SubscriptionTotals;
import io.tidegauge.worker.engine.figures.TotalFigures;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.figures.WindowFigures;
import io.tidegauge.worker.engine.histogram.HistogramEncoder;
import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import io.tidegauge.worker.engine.load.AckRecorder;
import io.tidegauge.worker.engine.load.LoadRecorder;
import io.tidegauge.worker.engine.load.LoadThreads;
import io.tidegauge.worker.engine.os.ProcessUse;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * Adds up everything known about a trial. Only reads: any number of them may be used at any time.
 */
final class TotalsReader {
  private final Setup setup;
  private final LoadThreads threads;
  private final WindowUse use;
  private final HistogramEncoder encoder = new HistogramEncoder();

  TotalsReader(Setup setup, LoadThreads threads, WindowUse use) {
    this.setup = setup;
    this.threads = threads;
    this.use = use;
  }

  TotalFigures read(long seconds, long cpuNsBefore, long gcPauseNsBefore) {
    Window window = setup.live.window;
    long failed = setup.acks.sum(AckRecorder.FAILED);
    long acked = setup.acks.sum(AckRecorder.ACKED);
    long sent = threads.sum(LoadRecorder.SENT);
    return new TotalFigures(
        sent,
        acked,
        failed,
        Math.max(0, sent - acked - failed),
        window(window),
        subscriptions(window),
        setup.errors.all(),
        ProcessUse.cpuNs() - cpuNsBefore,
        ProcessUse.gcPauseNs() - gcPauseNsBefore,
        ProcessUse.residentBytes(),
        seconds);
  }

  private WindowFigures window(Window window) {
    int epoch = window.epoch();
    Collection<AckRecorder> acks = setup.acks.all();
    Collection<LoadRecorder> loads = threads.recorders();
    WindowUse.Reading used = use.used();
    long acked = setup.acks.sum(AckRecorder.WINDOW_ACKED, epoch);
    return new WindowFigures(
        window.isSet() ? window.fromNs() : 0,
        window.isSet() && window.untilNs() != Long.MAX_VALUE ? window.untilNs() : 0,
        threads.sum(LoadRecorder.WINDOW_INTENDED, epoch),
        acked,
        setup.acks.sum(AckRecorder.WINDOW_FAILED, epoch),
        acked * setup.pool.messageBytes(),
        encoded(acks, (r, to) -> r.response().addInside(epoch, to)),
        encoded(acks, (r, to) -> r.service().addInside(epoch, to)),
        encoded(loads, (r, to) -> r.delay().addInside(epoch, to)),
        encoded(loads, (r, to) -> r.ownLag().addInside(epoch, to)),
        threads.sum(LoadRecorder.WINDOW_OWN_LAG_OVER, epoch),
        threads.sum(LoadRecorder.WINDOW_BLOCKED_NS, epoch),
        setup.acks.sum(AckRecorder.WINDOW_ACKED_WITHIN, epoch),
        used.cpuNs(),
        used.gcPauseNs(),
        used.cpuWaitNs(),
        records(window));
  }

  private List<RecordFigures> records(Window window) {
    List<RecordFigures> all = new ArrayList<>();
    for (int record = 0; record < window.records(); record++) {
      all.add(record(record, window.epoch()));
    }
    return all;
  }

  private RecordFigures record(int record, int epoch) {
    List<AckRecorder> acks = setup.acks.all().stream().filter(r -> r.hasEpoch(epoch)).toList();
    List<LoadRecorder> loads = threads.recorders().stream().filter(r -> r.hasEpoch(epoch)).toList();
    return new RecordFigures(
        loads.stream().mapToLong(r -> r.records().get(record, LoadRecorder.RECORD_INTENDED)).sum(),
        acks.stream().mapToLong(r -> r.records().get(record, AckRecorder.RECORD_ACKED)).sum(),
        acks.stream().mapToLong(r -> r.records().get(record, AckRecorder.RECORD_FAILED)).sum(),
        acks.stream()
            .mapToLong(r -> r.records().get(record, AckRecorder.RECORD_ACKED_WITHIN))
            .sum(),
        encoded(acks, (r, to) -> r.records().addTo(record, AckRecorder.RECORD_RESPONSE, to)),
        encoded(acks, (r, to) -> r.records().addTo(record, AckRecorder.RECORD_SERVICE, to)),
        encoded(loads, (r, to) -> r.records().addTo(record, LoadRecorder.RECORD_DELAY, to)));
  }

  private List<SubscriptionTotals> subscriptions(Window window) {
    // What other workers sent and received is not known here: nothing can be said to be missing.
    List<SequencesReader.Sent> sent =
        setup.plan.share().isWhole() ? new SequencesReader(setup).sent() : List.of();
    List<SubscriptionTotals> all = new ArrayList<>();
    for (Subscription s : setup.subscriptions) {
      all.add(subscription(s, window, sent));
    }
    return all;
  }

  private SubscriptionTotals subscription(
      Subscription s, Window window, List<SequencesReader.Sent> sent) {
    long missing = 0;
    List<String> examples = new ArrayList<>();
    for (SequencesReader.Sent of : sent) {
      int p = of.producer();
      Losses losses =
          Losses.find(of.count(), s.received(p), of.unknown(), Examples.MAX - examples.size());
      missing += losses.count();
      for (long sequence : losses.examples()) {
        examples.add(Examples.words(p, sequence));
      }
    }
    long unattributed = s.sum(ReceiveRecorder.CORRUPT_UNATTRIBUTED);
    // A message with a damaged header arrived, we only can't say which one it was.
    long lost = Math.max(0, missing - unattributed);
    // First: what comes meanwhile must not be in a part and missing in the whole.
    List<ApartLatency> apart = apart(s, window.epoch());
    return new SubscriptionTotals(
        s.name(),
        s.sum(ReceiveRecorder.RECEIVED),
        s.sum(ReceiveRecorder.UNIQUE),
        lost,
        lost,
        s.sum(ReceiveRecorder.DUPLICATED),
        s.sum(ReceiveRecorder.REORDERED),
        s.sum(ReceiveRecorder.CORRUPT),
        unattributed,
        s.sum(ReceiveRecorder.FOREIGN),
        s.sum(ReceiveRecorder.NEGATIVE_LATENCY),
        encoded(s.recorders(), (r, to) -> r.addEndToEnd(window.epoch(), to)),
        s.windowReceived(window.epoch()),
        List.copyOf(examples.subList(0, (int) Math.min(lost, examples.size()))),
        s.duplicated().all(),
        s.reordered().all(),
        s.corrupt().all(),
        recordEndToEnd(s, window),
        apart,
        foreign(s));
  }

  /** By the workers on other hosts that messages came from. */
  private List<ApartLatency> apart(Subscription s, int epoch) {
    Map<Integer, List<ApartRecorder>> byWorker = new TreeMap<>();
    for (ReceiveRecorder r : s.recorders()) {
      for (ApartRecorder of : r.apart()) {
        byWorker.computeIfAbsent(of.worker(), worker -> new ArrayList<>()).add(of);
      }
    }
    List<ApartLatency> all = new ArrayList<>();
    byWorker.forEach(
        (worker, recorders) -> {
          byte[] after = encoded(recorders, (r, to) -> r.after().addInside(epoch, to));
          byte[] before = encoded(recorders, (r, to) -> r.before().addInside(epoch, to));
          all.add(new ApartLatency(worker, after, before));
        });
    return all;
  }

  private List<byte[]> recordEndToEnd(Subscription s, Window window) {
    List<ReceiveRecorder> recorders =
        s.recorders().stream().filter(r -> r.hasEpoch(window.epoch())).toList();
    List<byte[]> all = new ArrayList<>();
    for (int i = 0; i < window.records(); i++) {
      int record = i;
      all.add(encoded(recorders, (r, to) -> r.records().addTo(record, 0, to)));
    }
    return all;
  }

  /** The sum of the histograms that each recorder adds to a list. */
  private <R> byte[] encoded(
      Collection<R> recorders, BiConsumer<R, List<LatencyHistogram>> adding) {
    List<LatencyHistogram> parts = new ArrayList<>();
    recorders.forEach(recorder -> adding.accept(recorder, parts));
    return encoder.encode(parts);
  }

  static Foreign foreign(Subscription s) {
    long first = Long.MAX_VALUE;
    long last = 0;
    for (ReceiveRecorder r : s.recorders()) {
      long began = r.get(ReceiveRecorder.FIRST_RECEIVED_NS);
      first = began == 0 ? first : Math.min(first, began);
      last = Math.max(last, r.get(ReceiveRecorder.LAST_RECEIVED_NS));
    }
    return new Foreign(
        last == 0 ? 0 : first,
        last,
        s.sum(ReceiveRecorder.VERIFIED),
        s.sum(ReceiveRecorder.RECEIVED_BYTES));
  }
}
