package io.tidegauge.worker.engine;

import io.tidegauge.worker.engine.check.ReceiveRecorder;
import io.tidegauge.worker.engine.check.Subscription;
import io.tidegauge.worker.engine.figures.SecondFigures;
import io.tidegauge.worker.engine.figures.SubscriptionSecond;
import io.tidegauge.worker.engine.histogram.HistogramEncoder;
import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import io.tidegauge.worker.engine.load.AckRecorder;
import io.tidegauge.worker.engine.load.LoadRecorder;
import io.tidegauge.worker.engine.load.LoadThreads;
import io.tidegauge.worker.engine.load.Producer;
import io.tidegauge.worker.engine.os.ProcessUse;
import io.tidegauge.worker.engine.schedule.RateProfile;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * Makes the figures of one second after the other as differences of what only grows. Used by the
 * sampler's thread only.
 */
final class SecondReader {
  private final Setup setup;
  private final LoadThreads threads;
  private final HistogramEncoder encoder = new HistogramEncoder();
  private final Map<String, Long> past = new HashMap<>();
  private final Map<String, HistogramEncoder.PastCounts> pastCounts = new HashMap<>();

  private final BusiestConsumer busiestConsumer;

  SecondReader(Setup setup, LoadThreads threads) {
    this.setup = setup;
    this.busiestConsumer =
        new BusiestConsumer(
            setup.subscriptions,
            setup.consumerNumbers,
            setup.plan.topics().size(),
            setup.plan.consumersPerSubscription());
    this.threads = threads;
    sinceLast("cpu", ProcessUse.cpuNs());
    sinceLast("gc", ProcessUse.gcPauseNs());
    sinceLast("jit", ProcessUse.jitNs());
  }

  SecondFigures read(long second, long fromNs, long untilNs) {
    List<SubscriptionSecond> subscriptions = subscriptions();
    BusiestConsumer.Found busiest =
        busiestConsumer.busiest(
            untilNs - fromNs, subscriptions.stream().map(SubscriptionSecond::backlog).toList());
    long failed = setup.acks.sum(AckRecorder.FAILED);
    long acked = setup.acks.sum(AckRecorder.ACKED);
    long sent = threads.sum(LoadRecorder.SENT);
    long ownLagNsMax = 0;
    for (LoadRecorder r : threads.recorders()) {
      ownLagNsMax = Math.max(ownLagNsMax, r.ownLagNsMax(fromNs, untilNs));
    }
    return new SecondFigures(
        second,
        fromNs,
        untilNs,
        scheduledMsgsPerS(fromNs, untilNs),
        sinceLast("sent", sent),
        sinceLast("acked", acked),
        sinceLast("failed", failed),
        sinceLast("bytes", acked * setup.pool.messageBytes()),
        inFlight(sent, acked + failed),
        sinceLast("blocked", threads.sum(LoadRecorder.BLOCKED_NS)),
        ownLagNsMax,
        encodeSinceLast("response", setup.acks.all(), (r, to) -> r.response().addAll(to)),
        encodeSinceLast("service", setup.acks.all(), (r, to) -> r.service().addAll(to)),
        encodeSinceLast("delay", threads.recorders(), (r, to) -> r.delay().addAll(to)),
        subscriptions,
        sinceLast("cpu", ProcessUse.cpuNs()),
        sinceLast("gc", ProcessUse.gcPauseNs()),
        ProcessUse.heapUsedBytes(),
        busiest.consumer(),
        busiest.busyNs(),
        sinceLast("jit", ProcessUse.jitNs()));
  }

  /**
   * Both are read while they grow, and this thread may lose its CPU in between: the window is what
   * can be in flight at most.
   */
  private long inFlight(long sent, long resolved) {
    long window = (long) setup.slotsPerProducer * setup.producers.size();
    return Math.min(window, Math.max(0, sent - resolved));
  }

  private double scheduledMsgsPerS(long fromNs, long untilNs) {
    RateProfile profile = setup.live.profile;
    if (setup.plan.arrival() == Arrival.CLOSED_LOOP || untilNs <= fromNs) {
      return 0;
    }
    long end = Math.min(untilNs, Math.max(fromNs, setup.live.stopAtNs));
    double units = profile.unitsAt(end) - profile.unitsAt(fromNs);
    return units * 1e9 / (untilNs - fromNs) * shareOfLoad();
  }

  private double shareOfLoad() {
    return setup.plan.share().isWhole()
        ? 1
        : (double) setup.producers.size() / Math.max(1, setup.plan.producers());
  }

  private List<SubscriptionSecond> subscriptions() {
    List<SubscriptionSecond> all = new ArrayList<>();
    for (Subscription s : setup.subscriptions) {
      String n = s.name();
      long unique = s.sum(ReceiveRecorder.UNIQUE);
      all.add(
          new SubscriptionSecond(
              n,
              sinceLast(n + " received", s.sum(ReceiveRecorder.RECEIVED)),
              sinceLast(n + " unique", unique),
              sinceLast(n + " bytes", s.sum(ReceiveRecorder.RECEIVED_BYTES)),
              backlog(s, unique),
              sinceLast(n + " duplicated", s.sum(ReceiveRecorder.DUPLICATED)),
              sinceLast(n + " reordered", s.sum(ReceiveRecorder.REORDERED)),
              sinceLast(n + " corrupt", s.sum(ReceiveRecorder.CORRUPT)),
              encodeSinceLast(n, s.recorders(), (r, to) -> r.addEndToEnd(to))));
    }
    return all;
  }

  /**
   * Acknowledged and not received; 0 where others send or receive as well. What was received
   * without an acknowledgement must not hide what is still to come.
   */
  private long backlog(Subscription s, long unique) {
    if (!setup.plan.share().isWhole()) {
      return 0;
    }
    long receivedAlthoughFailed = 0;
    for (Producer p : setup.producers) {
      if (p.hasFailed()) {
        receivedAlthoughFailed += p.failed().countCommon(s.received(p.index()));
      }
    }
    long unattributed = s.sum(ReceiveRecorder.CORRUPT_UNATTRIBUTED);
    long acked = setup.acks.sum(AckRecorder.ACKED);
    return Math.max(0, acked - (unique - receivedAlthoughFailed) - unattributed);
  }

  private long sinceLast(String counter, long value) {
    Long before = past.put(counter, value);
    return before == null ? value : Math.max(0, value - before);
  }

  /** What the histograms that each recorder adds to a list have counted since the last call. */
  private <R> byte[] encodeSinceLast(
      String name, Collection<R> recorders, BiConsumer<R, List<LatencyHistogram>> adding) {
    List<LatencyHistogram> parts = new ArrayList<>();
    recorders.forEach(recorder -> adding.accept(recorder, parts));
    return encoder.encodeSince(
        parts, pastCounts.computeIfAbsent(name, n -> new HistogramEncoder.PastCounts()));
  }
}
