package io.tidegauge.worker.app;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.tidegauge.worker.engine.SequencesSink;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.proto.ApartLatency;
import io.tidegauge.worker.proto.EffectiveSetting;
import io.tidegauge.worker.proto.ErrorCount;
import io.tidegauge.worker.proto.ReceivedSequences;
import io.tidegauge.worker.proto.RecordFigures;
import io.tidegauge.worker.proto.SecondFigures;
import io.tidegauge.worker.proto.SentSequences;
import io.tidegauge.worker.proto.SequencesPart;
import io.tidegauge.worker.proto.SubscriptionSecond;
import io.tidegauge.worker.proto.SubscriptionTotals;
import io.tidegauge.worker.proto.TotalFigures;
import io.tidegauge.worker.proto.WindowFigures;
import java.util.List;

/** The engine's figures as the controller wants them. */
final class ToProto {
  private ToProto() {}

  static List<EffectiveSetting> settings(List<io.tidegauge.worker.api.EffectiveSetting> all) {
    return all.stream().map(ToProto::setting).toList();
  }

  private static EffectiveSetting setting(io.tidegauge.worker.api.EffectiveSetting s) {
    EffectiveSetting.Builder b =
        EffectiveSetting.newBuilder()
            .setScope(s.scope())
            .setName(s.name())
            .setValue(s.value() == null ? "" : s.value());
    if (s.isDefault() != null) {
      b.setIsDefault(s.isDefault());
    }
    if (s.defaultValue() != null) {
      b.setDefaultValue(s.defaultValue());
    }
    return b.build();
  }

  static SecondFigures second(io.tidegauge.worker.engine.figures.SecondFigures s) {
    SecondFigures.Builder b =
        SecondFigures.newBuilder()
            .setSecond(s.second())
            .setFromMonoNs(s.fromMonoNs())
            .setUntilMonoNs(s.untilMonoNs())
            .setScheduledMsgsPerS(s.scheduledMsgsPerS())
            .setSent(s.sent())
            .setAcked(s.acked())
            .setFailed(s.failed())
            .setAckedBytes(s.ackedBytes())
            .setInFlight(s.inFlight())
            .setBlockedNs(s.blockedNs())
            .setOwnLagNsMax(s.ownLagNsMax())
            .setResponse(bytes(s.response()))
            .setService(bytes(s.service()))
            .setDelay(bytes(s.delay()))
            .setWorkerCpuNs(s.workerCpuNs())
            .setGcPauseNs(s.gcPauseNs())
            .setHeapUsedBytes(s.heapUsedBytes())
            .setBusiestConsumer(s.busiestConsumer())
            .setBusiestConsumerBusyNs(s.busiestConsumerBusyNs())
            .setJitNs(s.jitNs());
    for (var sub : s.subscriptions()) {
      b.addSubscriptions(
          SubscriptionSecond.newBuilder()
              .setName(sub.name())
              .setReceived(sub.received())
              .setUnique(sub.unique())
              .setReceivedBytes(sub.receivedBytes())
              .setBacklog(sub.backlog())
              .setDuplicated(sub.duplicated())
              .setReordered(sub.reordered())
              .setCorrupt(sub.corrupt())
              .setEndToEnd(bytes(sub.endToEnd())));
    }
    return b.build();
  }

  static TotalFigures totals(io.tidegauge.worker.engine.figures.TotalFigures t) {
    TotalFigures.Builder b =
        TotalFigures.newBuilder()
            .setSent(t.sent())
            .setAcked(t.acked())
            .setFailed(t.failed())
            .setUnresolved(t.unresolved())
            .setWindow(window(t.window()))
            .setWorkerCpuNs(t.workerCpuNs())
            .setGcPauseNs(t.gcPauseNs())
            .setResidentBytes(t.residentBytes())
            .setSeconds(t.seconds());
    t.subscriptions().forEach(s -> b.addSubscriptions(subscription(s)));
    for (ErrorLog.ErrorCount e : t.errors()) {
      b.addErrors(
          ErrorCount.newBuilder().setWhere(e.where()).setMessage(e.message()).setCount(e.count()));
    }
    return b.build();
  }

  private static WindowFigures window(io.tidegauge.worker.engine.figures.WindowFigures w) {
    WindowFigures.Builder b =
        WindowFigures.newBuilder()
            .setFromMonoNs(w.fromMonoNs())
            .setUntilMonoNs(w.untilMonoNs())
            .setIntended(w.intended())
            .setAcked(w.acked())
            .setFailed(w.failed())
            .setAckedBytes(w.ackedBytes())
            .setResponse(bytes(w.response()))
            .setService(bytes(w.service()))
            .setDelay(bytes(w.delay()))
            .setOwnLag(bytes(w.ownLag()))
            .setOwnLagOverTolerance(w.ownLagOverTolerance())
            .setBlockedNs(w.blockedNs())
            .setAckedWithin(w.ackedWithin())
            .setWorkerCpuNs(w.workerCpuNs())
            .setGcPauseNs(w.gcPauseNs())
            .setCpuWaitNs(w.cpuWaitNs());
    w.records().forEach(r -> b.addRecords(record(r)));
    return b.build();
  }

  private static RecordFigures record(io.tidegauge.worker.engine.figures.RecordFigures r) {
    return RecordFigures.newBuilder()
        .setIntended(r.intended())
        .setAcked(r.acked())
        .setFailed(r.failed())
        .setAckedWithin(r.ackedWithin())
        .setResponse(bytes(r.response()))
        .setService(bytes(r.service()))
        .setDelay(bytes(r.delay()))
        .build();
  }

  private static SubscriptionTotals subscription(
      io.tidegauge.worker.engine.figures.SubscriptionTotals s) {
    return SubscriptionTotals.newBuilder()
        .setName(s.name())
        .setReceived(s.received())
        .setUnique(s.unique())
        .setBacklog(s.backlog())
        .setLost(s.lost())
        .setDuplicated(s.duplicated())
        .setReordered(s.reordered())
        .setCorrupt(s.corrupt())
        .setCorruptUnattributed(s.corruptUnattributed())
        .setForeign(s.foreign())
        .setNegativeLatency(s.negativeLatency())
        .setEndToEnd(bytes(s.endToEnd()))
        .setWindowReceived(s.windowReceived())
        .addAllLostExamples(s.lostExamples())
        .addAllDuplicatedExamples(s.duplicatedExamples())
        .addAllReorderedExamples(s.reorderedExamples())
        .addAllCorruptExamples(s.corruptExamples())
        .addAllRecordEndToEnd(s.recordEndToEnd().stream().map(ToProto::bytes).toList())
        .setFirstReceivedMonoNs(s.others().firstReceivedNs())
        .setLastReceivedMonoNs(s.others().lastReceivedNs())
        .setVerified(s.others().verified())
        .setReceivedBytes(s.others().receivedBytes())
        .addAllApart(s.apart().stream().map(ToProto::apart).toList())
        .build();
  }

  private static ApartLatency apart(io.tidegauge.worker.engine.figures.ApartLatency a) {
    return ApartLatency.newBuilder()
        .setWorker(a.worker())
        .setEndToEnd(bytes(a.endToEnd()))
        .setBefore(bytes(a.before()))
        .build();
  }

  /** Takes sets of sequences as parts of an answer. */
  static SequencesSink parts(Replies.Parts<SequencesPart> parts) {
    return new SequencesSink() {
      @Override
      public void sent(int producer, long sent, byte[] unknown) throws InterruptedException {
        var part =
            SentSequences.newBuilder()
                .setProducer(producer)
                .setSent(sent)
                .setUnknown(bytes(unknown));
        parts.add(SequencesPart.newBuilder().setSent(part).build());
      }

      @Override
      public void received(String subscription, int producer, byte[] received)
          throws InterruptedException {
        var part = ToProto.received(subscription, producer, received);
        parts.add(SequencesPart.newBuilder().setReceived(part).build());
      }
    };
  }

  static ReceivedSequences received(String subscription, int producer, byte[] received) {
    return ReceivedSequences.newBuilder()
        .setSubscription(subscription)
        .setProducer(producer)
        .setReceived(bytes(received))
        .build();
  }

  private static ByteString bytes(byte[] array) {
    return UnsafeByteOperations.unsafeWrap(array);
  }
}
