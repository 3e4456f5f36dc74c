package io.tidegauge.worker.app;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.Trial;
import io.tidegauge.worker.engine.TrialPlan;
import io.tidegauge.worker.engine.figures.SecondsLog;
import io.tidegauge.worker.proto.*;
import java.util.List;
import java.util.function.Consumer;

/**
 * The service of worker.proto. Every call is short but Watch and those that wait for the system.
 */
final class WorkerService extends WorkerGrpc.WorkerImplBase {
  private static final long WATCH_WAIT_MS = 200;

  private final Drivers drivers = new Drivers();
  private final CurrentTrial currentTrial;
  private final Results results;
  private final Lease lease;
  private final Consumer<String> end;
  private final Consumer<String> exit;

  /**
   * @param end ends the process at once
   * @param exit ends it as programs do, so that the JVM writes what its flags ask for
   * @param results keeps what was measured on this host's disk
   */
  WorkerService(Lease lease, Consumer<String> end, Consumer<String> exit, Results results) {
    this.currentTrial = new CurrentTrial(drivers, results);
    this.results = results;
    this.lease = lease;
    this.end = end;
    this.exit = exit;
  }

  /** What is asked of a system. */
  private interface Question<A> {
    A of(Driver driver) throws DriverException, InterruptedException;
  }

  /** Answers with what a driver made for this call finds out or does. */
  private <A> void ask(StreamObserver<A> to, Connection connection, Question<A> question) {
    Replies.answer(
        to,
        Status.UNAVAILABLE,
        () -> {
          try (Driver driver = drivers.open(connection)) {
            return question.of(driver);
          }
        });
  }

  @Override
  public void handshake(HandshakeRequest request, StreamObserver<HandshakeReply> to) {
    if (request.getProtocolVersion() != Introduction.PROTOCOL_VERSION) {
      Replies.fail(
          to,
          Status.FAILED_PRECONDITION,
          "the worker speaks protocol version "
              + Introduction.PROTOCOL_VERSION
              + ", the controller "
              + request.getProtocolVersion());
      return;
    }
    Replies.answer(to, () -> Introduction.of(drivers));
  }

  @Override
  public StreamObserver<HoldRequest> hold(StreamObserver<HoldReply> to) {
    return new StreamObserver<>() {
      @Override
      public void onNext(HoldRequest request) {
        lease.renew(request.getLeaseMs());
      }

      @Override
      public void onError(Throwable t) {
        lease.broken("its stream broke");
      }

      @Override
      public void onCompleted() {
        to.onNext(HoldReply.getDefaultInstance());
        to.onCompleted();
        lease.broken("it was given back");
      }
    };
  }

  @Override
  public void probe(ProbeRequest request, StreamObserver<ProbeReply> to) {
    ask(
        to,
        request.getConnection(),
        driver -> {
          int copies = request.getCopiesOfCluster() ? 0 : 1;
          long ns = Probe.run(driver, request.getTopic(), copies, request.getTimeoutMs());
          return ProbeReply.newBuilder().setTookNs(ns).build();
        });
  }

  @Override
  public void witness(WitnessRequest request, StreamObserver<WitnessReply> to) {
    ask(
        to,
        request.getOrder().getConnection(),
        driver -> Witness.run(driver, FromProto.plan(request.getOrder()), request));
  }

  @Override
  public void describe(DescribeRequest request, StreamObserver<DescribeReply> to) {
    ask(
        to,
        request.getConnection(),
        driver ->
            DescribeReply.newBuilder()
                .addAllSettings(ToProto.settings(driver.describe(request.getTopicsList())))
                .build());
  }

  @Override
  public void prepare(PrepareRequest request, StreamObserver<PrepareReply> to) {
    Replies.answer(
        to,
        () -> {
          Trial trial = currentTrial.prepare(request.getConnection(), FromProto.plan(request));
          return PrepareReply.newBuilder()
              .addAllClientSettings(ToProto.settings(trial.clientSettings()))
              .setLoadThreads(trial.loadThreads())
              .addAllPartitions(trial.partitions())
              .build();
        });
  }

  @Override
  public void createTopics(PrepareRequest request, StreamObserver<CreateTopicsReply> to) {
    Replies.done(
        to,
        CreateTopicsReply.getDefaultInstance(),
        () -> currentTrial.createTopics(request.getConnection(), FromProto.plan(request)));
  }

  @Override
  public void prepareProgress(
      PrepareProgressRequest request, StreamObserver<PrepareProgressReply> to) {
    Replies.answer(to, currentTrial::progress);
  }

  @Override
  public void start(StartRequest request, StreamObserver<StartReply> to) {
    Replies.answer(
        to,
        () -> {
          long at = currentTrial.trial().start(request.getAtMonoNs());
          return StartReply.newBuilder().setStartedMonoNs(at).build();
        });
  }

  @Override
  public void setRate(SetRateRequest request, StreamObserver<SetRateReply> to) {
    Replies.done(
        to,
        SetRateReply.getDefaultInstance(),
        () -> currentTrial.trial().setRate(request.getMsgsPerS(), request.getAtMonoNs()));
  }

  @Override
  public void setWindow(SetWindowRequest request, StreamObserver<SetWindowReply> to) {
    Replies.done(
        to,
        SetWindowReply.getDefaultInstance(),
        () -> currentTrial.trial().setWindow(request.getFromMonoNs(), request.getUntilMonoNs()));
  }

  @Override
  public void pauseConsumers(PauseRequest request, StreamObserver<PauseReply> to) {
    Replies.done(
        to,
        PauseReply.getDefaultInstance(),
        () -> currentTrial.trial().pauseConsumers(request.getSubscriptionsList()));
  }

  @Override
  public void resumeConsumers(PauseRequest request, StreamObserver<PauseReply> to) {
    Replies.done(
        to,
        PauseReply.getDefaultInstance(),
        () -> currentTrial.trial().resumeConsumers(request.getSubscriptionsList()));
  }

  @Override
  public void closeConsumers(PauseRequest request, StreamObserver<PauseReply> to) {
    Replies.done(
        to,
        PauseReply.getDefaultInstance(),
        () -> currentTrial.trial().closeConsumers(request.getSubscriptionsList()));
  }

  @Override
  public void watch(WatchRequest request, StreamObserver<SecondFigures> to) {
    ServerCallStreamObserver<SecondFigures> observer = (ServerCallStreamObserver<SecondFigures>) to;
    try {
      SecondsLog log = currentTrial.trial().seconds();
      long next = request.getFromSecond();
      while (!observer.isCancelled()) {
        // A slow observer must not make the worker keep what it has not taken.
        if (!observer.isReady()) {
          Thread.sleep(1);
          continue;
        }
        var second = log.next(next, WATCH_WAIT_MS);
        if (second != null) {
          observer.onNext(second);
          next = second.getSecond() + 1;
        } else if (log.isClosed() && log.count() <= next) {
          observer.onCompleted();
          return;
        }
      }
    } catch (IllegalStateException e) {
      Replies.fail(to, Status.FAILED_PRECONDITION, e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void stopProducers(StopProducersRequest request, StreamObserver<StopProducersReply> to) {
    Replies.answer(
        to,
        () -> {
          Trial trial = currentTrial.trial();
          return StopProducersReply.newBuilder()
              .setUnresolved(trial.stopProducers(request.getGraceMs()))
              .setStoppedMonoNs(trial.stoppedAtNs())
              .build();
        });
  }

  @Override
  public void totals(TotalsRequest request, StreamObserver<TotalFigures> to) {
    Replies.answer(to, () -> currentTrial.trial().totals());
  }

  @Override
  public void sequences(SequencesRequest request, StreamObserver<SequencesPart> to) {
    Replies.stream(to, parts -> currentTrial.trial().sequences(ToProto.parts(parts)));
  }

  @Override
  public void leftResults(LeftResultsRequest request, StreamObserver<ResultsPart> to) {
    Replies.stream(to, parts -> results.read(request, parts));
  }

  @Override
  public void removeLeftResults(
      LeftResultsRequest request, StreamObserver<RemoveLeftResultsReply> to) {
    Replies.done(to, RemoveLeftResultsReply.getDefaultInstance(), () -> results.remove(request));
  }

  @Override
  public void finish(FinishRequest request, StreamObserver<FinishReply> to) {
    Replies.answer(
        to,
        Status.UNAVAILABLE,
        () -> {
          currentTrial.finish(request.getDeleteTopics());
          return FinishReply.getDefaultInstance();
        });
  }

  @Override
  public void deleteTopics(DeleteTopicsRequest request, StreamObserver<DeleteTopicsReply> to) {
    ask(
        to,
        request.getConnection(),
        driver -> {
          if (request.getTopicsCount() > 0) {
            driver.deleteTopics(request.getTopicsList());
          }
          if (request.getKeptTopicsCount() > 0) {
            String prefix = TrialPlan.subscriptionPrefix(request.getTrialId());
            driver.removeSubscriptions(request.getKeptTopicsList(), prefix);
          }
          return DeleteTopicsReply.getDefaultInstance();
        });
  }

  @Override
  public void readBack(ReadBackRequest request, StreamObserver<ReadBackReply> to) {
    ask(
        to,
        request.getOrder().getConnection(),
        driver -> ReadBack.run(driver, FromProto.plan(request.getOrder()), request));
  }

  @Override
  public void trace(TraceRequest request, StreamObserver<TracePart> to) {
    Replies.stream(
        to,
        parts -> {
          try (Driver driver = drivers.open(request.getOrder().getConnection())) {
            TrialPlan plan = FromProto.plan(request.getOrder());
            // How many partitions others gave a topic, nobody can say once they deleted it.
            List<Integer> partitions =
                plan.variant().existingTopics()
                    ? currentTrial.trial().partitions()
                    : plan.topics().stream().map(TopicSpec::partitions).toList();
            Trace.run(driver, plan, partitions, request, parts);
          }
        });
  }

  @Override
  public void committedPositions(
      CommittedPositionsRequest request, StreamObserver<CommittedPositionsReply> to) {
    ask(
        to,
        request.getOrder().getConnection(),
        driver -> ReadBack.positions(driver, FromProto.plan(request.getOrder())));
  }

  @Override
  public void shutdown(ShutdownRequest request, StreamObserver<ShutdownReply> to) {
    to.onNext(ShutdownReply.getDefaultInstance());
    to.onCompleted();
    if (request.getWriteArchive()) {
      lease.release();
    }
    Consumer<String> how = request.getWriteArchive() ? exit : end;
    Thread ending = new Thread(() -> endSoon(how), "tg-shutdown");
    ending.start();
  }

  /** The reply must leave first. */
  private static void endSoon(Consumer<String> how) {
    try {
      Thread.sleep(100);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    how.accept("it was told to");
  }
}
