package io.tidegauge.worker.engine;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.tidegauge.worker.engine.check.ReceiveRecorder;
import io.tidegauge.worker.engine.check.Subscription;
import io.tidegauge.worker.engine.histogram.HistogramEncoder;
import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import io.tidegauge.worker.engine.load.AckRecorder;
import io.tidegauge.worker.engine.load.LoadRecorder;
import io.tidegauge.worker.engine.load.LoadThreads;
import io.tidegauge.worker.engine.load.Producer;
import io.tidegauge.worker.engine.os.ProcessUse;
import io.tidegauge.worker.engine.schedule.RateProfile;
import io.tidegauge.worker.proto.SecondFigures;
import io.tidegauge.worker.proto.SubscriptionSecond;
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
  private final TrialPlan plan;
  private final Producer.Context context;
  private final Clients clients;
  private final LoadThreads threads;
  private final HistogramEncoder encoder = new HistogramEncoder();
  private final Map<String, Long> past = new HashMap<>();
  private final Map<String, HistogramEncoder.PastCounts> pastCounts = new HashMap<>();

  private final BusiestConsumer busiestConsumer;

  SecondReader(TrialPlan plan, Producer.Context context, Clients clients, LoadThreads threads) {
    this.plan = plan;
    this.context = context;
    this.clients = clients;
    this.busiestConsumer =
        new BusiestConsumer(
            clients.subscriptions(),
            clients.consumerNumbers(),
            plan.topics().size(),
            plan.users().consumersPerSubscription());
    this.threads = threads;
    sinceLast("cpu", ProcessUse.cpuNs());
    sinceLast("gc", ProcessUse.gcPauseNs());
    sinceLast("jit", ProcessUse.jitNs());
  }

  SecondFigures read(long second, long fromNs, long untilNs) {
    List<SubscriptionSecond> subscriptions = subscriptions();
    BusiestConsumer.Found busiest =
        busiestConsumer.busiest(
            untilNs - fromNs, subscriptions.stream().map(SubscriptionSecond::getBacklog).toList());
    long failed = context.acks().sum(AckRecorder.FAILED);
    long acked = context.acks().sum(AckRecorder.ACKED);
    long sent = threads.sum(LoadRecorder.SENT);
    long ownLagNsMax = 0;
    for (LoadRecorder r : threads.recorders()) {
      ownLagNsMax = Math.max(ownLagNsMax, r.ownLagNsMax(fromNs, untilNs));
    }
    return SecondFigures.newBuilder()
        .setSecond(second)
        .setFromMonoNs(fromNs)
        .setUntilMonoNs(untilNs)
        .setScheduledMsgsPerS(scheduledMsgsPerS(fromNs, untilNs))
        .setSent(sinceLast("sent", sent))
        .setAcked(sinceLast("acked", acked))
        .setFailed(sinceLast("failed", failed))
        .setAckedBytes(
            sinceLast(
                "bytes",
                context.pool().bytesOf(acked, context.acks().sum(AckRecorder.ACKED_BYTES))))
        .setInFlight(inFlight(sent, acked + failed))
        .setBlockedNs(sinceLast("blocked", threads.sum(LoadRecorder.BLOCKED_NS)))
        .setOwnLagNsMax(ownLagNsMax)
        .setResponse(
            encodeSinceLast("response", context.acks().all(), (r, to) -> r.response().addAll(to)))
        .setService(
            encodeSinceLast("service", context.acks().all(), (r, to) -> r.service().addAll(to)))
        .setDelay(encodeSinceLast("delay", threads.recorders(), (r, to) -> r.delay().addAll(to)))
        .addAllSubscriptions(subscriptions)
        .setWorkerCpuNs(sinceLast("cpu", ProcessUse.cpuNs()))
        .setGcPauseNs(sinceLast("gc", ProcessUse.gcPauseNs()))
        .setHeapUsedBytes(ProcessUse.heapUsedBytes())
        .setBusiestConsumer(busiest.consumer())
        .setBusiestConsumerBusyNs(busiest.busyNs())
        .setJitNs(sinceLast("jit", ProcessUse.jitNs()))
        .build();
  }

  /**
   * Both are read while they grow, and this thread may lose its CPU in between: the window is what
   * can be in flight at most.
   */
  private long inFlight(long sent, long resolved) {
    long window = (long) plan.client().inFlightMessagesMax() * clients.producers().size();
    return Math.min(window, Math.max(0, sent - resolved));
  }

  private double scheduledMsgsPerS(long fromNs, long untilNs) {
    RateProfile profile = context.live().profile;
    if (plan.load().arrival() == Arrival.CLOSED_LOOP || untilNs <= fromNs) {
      return 0;
    }
    long end = Math.min(untilNs, Math.max(fromNs, context.live().stopAtNs));
    double units = profile.unitsAt(end) - profile.unitsAt(fromNs);
    return units * 1e9 / (untilNs - fromNs) * shareOfLoad();
  }

  private double shareOfLoad() {
    return plan.share().isWhole()
        ? 1
        : (double) clients.producers().size() / Math.max(1, plan.producers());
  }

  private List<SubscriptionSecond> subscriptions() {
    List<SubscriptionSecond> all = new ArrayList<>();
    for (Subscription s : clients.subscriptions()) {
      String n = s.name();
      long unique = s.sum(ReceiveRecorder.UNIQUE);
      all.add(
          SubscriptionSecond.newBuilder()
              .setName(n)
              .setReceived(sinceLast(n + " received", s.sum(ReceiveRecorder.RECEIVED)))
              .setUnique(sinceLast(n + " unique", unique))
              .setReceivedBytes(sinceLast(n + " bytes", s.sum(ReceiveRecorder.RECEIVED_BYTES)))
              .setBacklog(backlog(s, unique))
              .setDuplicated(sinceLast(n + " duplicated", s.sum(ReceiveRecorder.DUPLICATED)))
              .setReordered(sinceLast(n + " reordered", s.sum(ReceiveRecorder.REORDERED)))
              .setCorrupt(sinceLast(n + " corrupt", s.sum(ReceiveRecorder.CORRUPT)))
              .setEndToEnd(encodeSinceLast(n, s.recorders(), (r, to) -> r.addEndToEnd(to)))
              .build());
    }
    return all;
  }

  /**
   * Acknowledged and not received; 0 where others send or receive as well. What was received
   * without an acknowledgement must not hide what is still to come.
   */
  private long backlog(Subscription s, long unique) {
    if (!plan.share().isWhole()) {
      return 0;
    }
    long receivedAlthoughFailed = 0;
    for (Producer p : clients.producers()) {
      if (p.hasFailed()) {
        receivedAlthoughFailed += p.failed().countCommon(s.received(p.index()));
      }
    }
    long unattributed = s.sum(ReceiveRecorder.CORRUPT_UNATTRIBUTED);
    long acked = context.acks().sum(AckRecorder.ACKED);
    return Math.max(0, acked - (unique - receivedAlthoughFailed) - unattributed);
  }

  private long sinceLast(String counter, long value) {
    Long before = past.put(counter, value);
    return before == null ? value : Math.max(0, value - before);
  }

  /** What the histograms that each recorder adds to a list have counted since the last call. */
  private <R> ByteString encodeSinceLast(
      String name, Collection<R> recorders, BiConsumer<R, List<LatencyHistogram>> adding) {
    List<LatencyHistogram> parts = new ArrayList<>();
    recorders.forEach(recorder -> adding.accept(recorder, parts));
    return UnsafeByteOperations.unsafeWrap(
        encoder.encodeSince(
            parts, pastCounts.computeIfAbsent(name, n -> new HistogramEncoder.PastCounts())));
  }
}
