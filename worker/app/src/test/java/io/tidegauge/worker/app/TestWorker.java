package io.tidegauge.worker.app;

import static org.assertj.core.api.Assumptions.assumeThat;

import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.tidegauge.worker.proto.*;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** The real service on a real port, in this process; its end is noted instead of carried out. */
final class TestWorker implements AutoCloseable {
  private static final long AHEAD_NS_MIN = 200_000_000;

  /** A trial is ordered so many times further ahead than a call took just before. */
  private static final int CALLS_AHEAD = 20;

  private static final long PATIENCE_NS = 60_000_000_000L;
  private static final double SHARE_SENT = 0.75;
  static final String SECRET = "a secret for the tests";

  final LinkedBlockingQueue<String> ends = new LinkedBlockingQueue<>();
  final LinkedBlockingQueue<String> exits = new LinkedBlockingQueue<>();
  final Lease lease = new Lease(ends::add);
  final WorkerGrpc.WorkerBlockingStub stub;
  final WorkerGrpc.WorkerStub async;
  private final Server server;
  private final ManagedChannel channel;

  /** Goes with the worker; null = the test's own. */
  private final Path directory;

  TestWorker() throws IOException {
    this(Files.createTempDirectory("tidegauge-results"));
  }

  private TestWorker(Path directory) throws IOException {
    this(new Results(directory), directory);
  }

  TestWorker(Results results) throws IOException {
    this(results, null);
  }

  private TestWorker(Results results, Path directory) throws IOException {
    this.directory = directory;
    server = Main.start(new WorkerService(lease, ends::add, exits::add, results), SECRET);
    channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.getPort())
            .usePlaintext()
            .maxInboundMessageSize(Main.MESSAGE_BYTES_MAX)
            .build();
    stub = WorkerGrpc.newBlockingStub(withSecret(SECRET));
    async = WorkerGrpc.newStub(withSecret(SECRET));
  }

  Channel withSecret(String secret) {
    Metadata headers = new Metadata();
    headers.put(SecretCheck.KEY, secret);
    return ClientInterceptors.intercept(
        channel, MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  Channel withoutSecret() {
    return channel;
  }

  static Connection connection(Map<String, String> settings) {
    return Connection.newBuilder().setDriver("null").putAllSettings(settings).build();
  }

  /** One topic, one partition, one producer, one consumer, 200 bytes. */
  static PrepareRequest.Builder order(Map<String, String> settings, double msgsPerS) {
    return PrepareRequest.newBuilder()
        .setConnection(connection(settings))
        .setTrialId(77)
        .setSeed(42)
        .addTopics(TopicSpec.newBuilder().setName("t0").setPartitions(1).setReplicationFactor(1))
        .setProducersPerTopic(1)
        .setSubscriptionsPerTopic(1)
        .setConsumersPerSubscription(1)
        .setPayload(Payload.newBuilder().setMessageBytes(200).setRandomShare(0.5).setPoolBodies(16))
        .setKeys(KeyChoice.NO_KEY)
        .setArrival(Arrival.UNIFORM)
        .setMsgsPerS(msgsPerS)
        .setClient(
            ClientOptions.newBuilder()
                .setInFlightMessagesMax(2000)
                .setReceiveQueueMessages(1000)
                .setConnectionsPerBroker(1)
                .setAcks("all"))
        .setOwnLagToleranceNs(5_000_000_000L);
  }

  /**
   * Runs a trial for a while, on a busy machine until most of what was due is sent, and returns its
   * final totals.
   */
  TotalFigures run(PrepareRequest order, long millis) throws InterruptedException {
    stub.prepare(order);
    startMeasured(0);
    Thread.sleep(millis);
    double sent = SHARE_SENT * Math.min(order.getMsgsPerS() * millis / 1000, 10_000);
    await(t -> t.getSent() >= sent);
    return stop();
  }

  /** Totals once they are as wanted, or time is up: whoever asks judges them then. */
  TotalFigures await(Predicate<TotalFigures> wanted) throws InterruptedException {
    long deadline = System.nanoTime() + PATIENCE_NS;
    while (true) {
      TotalFigures totals = stub.totals(TotalsRequest.getDefaultInstance());
      if (wanted.test(totals) || System.nanoTime() - deadline > 0) {
        return totals;
      }
      Thread.sleep(20);
    }
  }

  /**
   * Starts shortly, with everything from the first message on in the window. Returns the first
   * instant, once it has come.
   */
  long startMeasured(long windowMs) throws InterruptedException {
    long asked = System.nanoTime();
    stub.totals(TotalsRequest.getDefaultInstance());
    long ahead = Math.max(AHEAD_NS_MIN, CALLS_AHEAD * (System.nanoTime() - asked));
    long at = System.nanoTime() + ahead;
    long until = windowMs == 0 ? 0 : at + windowMs * 1_000_000;
    stub.setWindow(SetWindowRequest.newBuilder().setFromMonoNs(at).setUntilMonoNs(until).build());
    StartReply reply = stub.start(StartRequest.newBuilder().setAtMonoNs(at).build());
    long late = reply.getStartedMonoNs() - at;
    assumeThat(late).as("two calls took longer than 20 of before, by ns").isZero();
    TimeUnit.NANOSECONDS.sleep(at - System.nanoTime());
    return at;
  }

  /** Stops producers, waits until consumers receive nothing more, and finishes. */
  TotalFigures stop() throws InterruptedException {
    stub.stopProducers(StopProducersRequest.newBuilder().setGraceMs(10_000).build());
    TotalFigures totals = stub.totals(TotalsRequest.getDefaultInstance());
    int same = 0;
    while (same < 4
        && (same < 1 || totals.getSubscriptionsList().stream().anyMatch(TestWorker::isBehind))) {
      Thread.sleep(100);
      TotalFigures later = stub.totals(TotalsRequest.getDefaultInstance());
      same = later.getSubscriptionsList().equals(totals.getSubscriptionsList()) ? same + 1 : 0;
      totals = later;
    }
    stub.finish(FinishRequest.newBuilder().setDeleteTopics(true).build());
    return totals;
  }

  private static boolean isBehind(SubscriptionTotals subscription) {
    return subscription.getLost() > 0;
  }

  @Override
  public void close() {
    channel.shutdownNow();
    server.shutdownNow();
    if (directory != null) {
      for (File file : directory.toFile().listFiles()) {
        file.delete();
      }
      directory.toFile().delete();
    }
  }
}
