package io.tidegauge.worker.engine;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.tidegauge.worker.engine.check.ApartRecorder;
import io.tidegauge.worker.engine.check.Examples;
import io.tidegauge.worker.engine.check.Losses;
import io.tidegauge.worker.engine.check.ReceiveRecorder;
import io.tidegauge.worker.engine.check.Subscription;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Recorder;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.histogram.HistogramEncoder;
import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import io.tidegauge.worker.engine.load.AckRecorder;
import io.tidegauge.worker.engine.load.LoadRecorder;
import io.tidegauge.worker.engine.load.LoadThreads;
import io.tidegauge.worker.engine.load.Producer;
import io.tidegauge.worker.engine.os.ProcessUse;
import io.tidegauge.worker.proto.ApartLatency;
import io.tidegauge.worker.proto.ErrorCount;
import io.tidegauge.worker.proto.RecordFigures;
import io.tidegauge.worker.proto.SubscriptionTotals;
import io.tidegauge.worker.proto.TotalFigures;
import io.tidegauge.worker.proto.WindowFigures;
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
  private final TrialPlan plan;
  private final Producer.Context context;
  private final Clients clients;
  private final LoadThreads threads;
  private final WindowUse use;
  private final HistogramEncoder encoder = new HistogramEncoder();

  TotalsReader(
      TrialPlan plan,
      Producer.Context context,
      Clients clients,
      LoadThreads threads,
      WindowUse use) {
    this.plan = plan;
    this.context = context;
    this.clients = clients;
    this.threads = threads;
    this.use = use;
  }

  TotalFigures read(long seconds, long cpuNsBefore, long gcPauseNsBefore) {
    Window window = context.live().window;
    long failed = context.acks().sum(AckRecorder.FAILED);
    long acked = context.acks().sum(AckRecorder.ACKED);
    long sent = threads.sum(LoadRecorder.SENT);
    return TotalFigures.newBuilder()
        .setSent(sent)
        .setAcked(acked)
        .setFailed(failed)
        .setUnresolved(Math.max(0, sent - acked - failed))
        .setWindow(window(window))
        .addAllSubscriptions(subscriptions(window))
        .addAllErrors(context.errors().all().stream().map(TotalsReader::count).toList())
        .setWorkerCpuNs(ProcessUse.cpuNs() - cpuNsBefore)
        .setGcPauseNs(ProcessUse.gcPauseNs() - gcPauseNsBefore)
        .setResidentBytes(ProcessUse.residentBytes())
        .setSeconds(seconds)
        .build();
  }

  private static ErrorCount count(ErrorLog.ErrorCount error) {
    return ErrorCount.newBuilder()
        .setWhere(error.where())
        .setMessage(error.message())
        .setCount(error.count())
        .build();
  }

  private WindowFigures window(Window window) {
    int epoch = window.epoch();
    Collection<AckRecorder> acks = context.acks().all();
    Collection<LoadRecorder> loads = threads.recorders();
    WindowUse.Reading used = use.used();
    long acked = context.acks().sum(AckRecorder.WINDOW_ACKED, epoch);
    return WindowFigures.newBuilder()
        .setFromMonoNs(window.isSet() ? window.fromNs() : 0)
        .setUntilMonoNs(window.isSet() && window.untilNs() != Long.MAX_VALUE ? window.untilNs() : 0)
        .setIntended(threads.sum(LoadRecorder.WINDOW_INTENDED, epoch))
        .setAcked(acked)
        .setFailed(context.acks().sum(AckRecorder.WINDOW_FAILED, epoch))
        .setAckedBytes(
            context
                .pool()
                .bytesOf(acked, context.acks().sum(AckRecorder.WINDOW_ACKED_BYTES, epoch)))
        .setResponse(encoded(acks, (r, to) -> r.response().addInside(epoch, to)))
        .setService(encoded(acks, (r, to) -> r.service().addInside(epoch, to)))
        .setDelay(encoded(loads, (r, to) -> r.delay().addInside(epoch, to)))
        .setOwnLag(encoded(loads, (r, to) -> r.ownLag().addInside(epoch, to)))
        .setOwnLagOverTolerance(threads.sum(LoadRecorder.WINDOW_OWN_LAG_OVER, epoch))
        .setBlockedNs(threads.sum(LoadRecorder.WINDOW_BLOCKED_NS, epoch))
        .setAckedWithin(context.acks().sum(AckRecorder.WINDOW_ACKED_WITHIN, epoch))
        .setWorkerCpuNs(used.cpuNs())
        .setGcPauseNs(used.gcPauseNs())
        .setCpuWaitNs(used.cpuWaitNs())
        .setLastOutcomeMonoNs(lastOutcomeNs(acks, epoch))
        .addAllRecords(records(window))
        .build();
  }

  private static long lastOutcomeNs(Collection<AckRecorder> acks, int epoch) {
    return acks.stream()
        .filter(r -> r.hasEpoch(epoch))
        .mapToLong(r -> r.get(AckRecorder.WINDOW_LAST_NS))
        .max()
        .orElse(0);
  }

  private List<RecordFigures> records(Window window) {
    List<RecordFigures> all = new ArrayList<>();
    for (int record = 0; record < window.records(); record++) {
      all.add(record(record, window.epoch()));
    }
    return all;
  }

  private RecordFigures record(int record, int epoch) {
    List<AckRecorder> acks = context.acks().all().stream().filter(r -> r.hasEpoch(epoch)).toList();
    List<LoadRecorder> loads = threads.recorders().stream().filter(r -> r.hasEpoch(epoch)).toList();
    return RecordFigures.newBuilder()
        .setIntended(sumOfRecord(loads, record, LoadRecorder.RECORD_INTENDED))
        .setAcked(sumOfRecord(acks, record, AckRecorder.RECORD_ACKED))
        .setFailed(sumOfRecord(acks, record, AckRecorder.RECORD_FAILED))
        .setAckedWithin(sumOfRecord(acks, record, AckRecorder.RECORD_ACKED_WITHIN))
        .setResponse(
            encoded(acks, (r, to) -> r.records().addTo(record, AckRecorder.RECORD_RESPONSE, to)))
        .setService(
            encoded(acks, (r, to) -> r.records().addTo(record, AckRecorder.RECORD_SERVICE, to)))
        .setDelay(
            encoded(loads, (r, to) -> r.records().addTo(record, LoadRecorder.RECORD_DELAY, to)))
        .build();
  }

  private static long sumOfRecord(Collection<? extends Recorder> all, int record, int counter) {
    return all.stream().mapToLong(r -> r.records().get(record, counter)).sum();
  }

  private List<SubscriptionTotals> subscriptions(Window window) {
    // What other workers sent and received is not known here: nothing can be said to be missing.
    List<SequencesReader.Sent> sent =
        plan.share().isWhole() ? new SequencesReader(clients).sent() : List.of();
    List<SubscriptionTotals> all = new ArrayList<>();
    for (Subscription s : clients.subscriptions()) {
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
    // Those apart first: what comes meanwhile must not be in a part and missing in the whole.
    SubscriptionTotals.Builder totals =
        SubscriptionTotals.newBuilder().addAllApart(apart(s, window.epoch()));
    totals
        .setName(s.name())
        .setReceived(s.sum(ReceiveRecorder.RECEIVED))
        .setUnique(s.sum(ReceiveRecorder.UNIQUE))
        .setLost(lost)
        .setDuplicated(s.sum(ReceiveRecorder.DUPLICATED))
        .setReordered(s.sum(ReceiveRecorder.REORDERED))
        .setCorrupt(s.sum(ReceiveRecorder.CORRUPT))
        .setCorruptUnattributed(unattributed)
        .setDiscardedMax(s.discardedMax())
        .setForeign(s.sum(ReceiveRecorder.FOREIGN))
        .setNegativeLatency(s.sum(ReceiveRecorder.NEGATIVE_LATENCY))
        .setEndToEnd(encoded(s.recorders(), (r, to) -> r.addEndToEnd(window.epoch(), to)))
        .setInConsumer(encoded(s.recorders(), (r, to) -> r.addInConsumer(window.epoch(), to)))
        .setProcessed(encoded(s.recorders(), (r, to) -> r.addProcessed(window.epoch(), to)))
        .setProcessingNs(Recorder.sum(s.recorders(), ReceiveRecorder.PROCESSING_NS, window.epoch()))
        .setProcessingCpuNs(
            Recorder.sum(s.recorders(), ReceiveRecorder.PROCESSING_CPU_NS, window.epoch()))
        .setWindowReceived(s.windowReceived(window.epoch()))
        .addAllLostExamples(examples.subList(0, (int) Math.min(lost, examples.size())))
        .addAllDuplicatedExamples(s.duplicated().all())
        .addAllReorderedExamples(s.reordered().all())
        .addAllCorruptExamples(s.corrupt().all())
        .addAllRecordEndToEnd(recordEndToEnd(s, window));
    addReceipts(s, totals);
    return totals.build();
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
          all.add(
              ApartLatency.newBuilder()
                  .setWorker(worker)
                  .setEndToEnd(encoded(recorders, (r, to) -> r.after().addInside(epoch, to)))
                  .setBefore(encoded(recorders, (r, to) -> r.before().addInside(epoch, to)))
                  .build());
        });
    return all;
  }

  private List<ByteString> recordEndToEnd(Subscription s, Window window) {
    List<ReceiveRecorder> recorders =
        s.recorders().stream().filter(r -> r.hasEpoch(window.epoch())).toList();
    List<ByteString> all = new ArrayList<>();
    for (int i = 0; i < window.records(); i++) {
      int record = i;
      all.add(encoded(recorders, (r, to) -> r.records().addTo(record, 0, to)));
    }
    return all;
  }

  /** The sum of the histograms that each recorder adds to a list. */
  private <R> ByteString encoded(
      Collection<R> recorders, BiConsumer<R, List<LatencyHistogram>> adding) {
    List<LatencyHistogram> parts = new ArrayList<>();
    recorders.forEach(recorder -> adding.accept(recorder, parts));
    return UnsafeByteOperations.unsafeWrap(encoder.encode(parts));
  }

  /** Adds what matters where others made the messages: when the first and the last came. */
  static void addReceipts(Subscription s, SubscriptionTotals.Builder to) {
    long first = Long.MAX_VALUE;
    long last = 0;
    for (ReceiveRecorder r : s.recorders()) {
      long began = r.get(ReceiveRecorder.FIRST_RECEIVED_NS);
      first = began == 0 ? first : Math.min(first, began);
      last = Math.max(last, r.get(ReceiveRecorder.LAST_RECEIVED_NS));
    }
    to.setFirstReceivedMonoNs(last == 0 ? 0 : first)
        .setLastReceivedMonoNs(last)
        .setVerified(s.sum(ReceiveRecorder.VERIFIED))
        .setReceivedBytes(s.sum(ReceiveRecorder.RECEIVED_BYTES));
  }
}
