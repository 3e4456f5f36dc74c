package io.tidegauge.worker.app;

import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.tidegauge.worker.proto.*;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;

/** The real service on a real port, in this process; its end is noted instead of carried out. */
final class TestWorker implements AutoCloseable {
  static final long AHEAD_MS = 200;
  static final String SECRET = "a secret for the tests";

  final LinkedBlockingQueue<String> ends = new LinkedBlockingQueue<>();
  final Lease lease = new Lease(ends::add);
  final WorkerGrpc.WorkerBlockingStub stub;
  final WorkerGrpc.WorkerStub async;
  private final Server server;
  private final ManagedChannel channel;

  TestWorker() throws IOException {
    server = Main.start(new WorkerService(lease, ends::add), SECRET);
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

  /** Runs a trial for a while and returns its final totals. */
  TotalFigures run(PrepareRequest order, long millis) throws InterruptedException {
    stub.prepare(order);
    startMeasured(0);
    Thread.sleep(AHEAD_MS + millis);
    return stop();
  }

  /**
   * Starts shortly, with everything from the first message on in the window. Returns the first
   * instant.
   */
  long startMeasured(long windowMs) {
    long at = System.nanoTime() + AHEAD_MS * 1_000_000;
    long until = windowMs == 0 ? 0 : at + windowMs * 1_000_000;
    stub.setWindow(SetWindowRequest.newBuilder().setFromMonoNs(at).setUntilMonoNs(until).build());
    StartReply reply = stub.start(StartRequest.newBuilder().setAtMonoNs(at).build());
    if (reply.getStartedMonoNs() != at) {
      throw new AssertionError("the machine is too busy for this test");
    }
    return at;
  }

  /** Stops producers, waits for the drain, and finishes. */
  TotalFigures stop() throws InterruptedException {
    stub.stopProducers(StopProducersRequest.newBuilder().setGraceMs(10_000).build());
    Thread.sleep(100);
    TotalFigures totals = stub.totals(TotalsRequest.getDefaultInstance());
    stub.finish(FinishRequest.newBuilder().setDeleteTopics(true).build());
    return totals;
  }

  @Override
  public void close() {
    channel.shutdownNow();
    server.shutdownNow();
  }
}
