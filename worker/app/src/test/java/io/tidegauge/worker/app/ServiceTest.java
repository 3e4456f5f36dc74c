package io.tidegauge.worker.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.tidegauge.worker.proto.*;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who may talk to the worker, for how long it lives, and what it says to wrong orders. */
class ServiceTest {
  private TestWorker worker;

  @BeforeEach
  void start() throws Exception {
    worker = new TestWorker();
  }

  @AfterEach
  void stop() {
    worker.close();
  }

  private static void refused(Status.Code code, String part, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            StatusRuntimeException.class,
            e -> {
              assertThat(e.getStatus().getCode()).isEqualTo(code);
              assertThat(e.getStatus().getDescription()).contains(part).doesNotContain("\n");
            });
  }

  @Test
  void aCallWithoutTheSecretIsRefused() {
    HandshakeRequest hello =
        HandshakeRequest.newBuilder().setProtocolVersion(Introduction.PROTOCOL_VERSION).build();
    refused(
        Status.Code.UNAUTHENTICATED,
        "secret",
        () -> WorkerGrpc.newBlockingStub(worker.withoutSecret()).handshake(hello));
    refused(
        Status.Code.UNAUTHENTICATED,
        "secret",
        () -> WorkerGrpc.newBlockingStub(worker.withSecret("guess")).handshake(hello));
  }

  @Test
  void theHandshakeTellsWhatTheWorkerIs() {
    HandshakeReply reply =
        worker.stub.handshake(
            HandshakeRequest.newBuilder()
                .setProtocolVersion(Introduction.PROTOCOL_VERSION)
                .build());
    assertThat(reply.getPid()).isEqualTo(ProcessHandle.current().pid());
    assertThat(reply.getDriversMap()).containsKey("null");
    assertThat(reply.getHeapBytesMax()).isPositive();
  }

  @Test
  void anotherProtocolVersionIsRefused() {
    refused(
        Status.Code.FAILED_PRECONDITION,
        "protocol version",
        () -> worker.stub.handshake(HandshakeRequest.newBuilder().setProtocolVersion(9).build()));
  }

  @Test
  void theProbeSendsAndReceives() {
    ProbeReply reply =
        worker.stub.probe(
            ProbeRequest.newBuilder()
                .setConnection(TestWorker.connection(Map.of()))
                .setTopic("probe-1")
                .setTimeoutMs(5_000)
                .build());
    assertThat(reply.getTookNs()).isPositive();
  }

  @Test
  void aProbeThatLosesItsMessageFails() {
    refused(
        Status.Code.UNAVAILABLE,
        "did not come back within 200 ms",
        () ->
            worker.stub.probe(
                ProbeRequest.newBuilder()
                    .setConnection(TestWorker.connection(Map.of("lose", "at:0")))
                    .setTopic("probe-1")
                    .setTimeoutMs(200)
                    .build()));
  }

  @Test
  void aSystemThatRefusesTopicsIsToldFromOneThatLosesMessages() throws Exception {
    try (ServerSocket refusing = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Thread server = new Thread(() -> refuseOnce(refusing));
      server.setDaemon(true);
      server.start();
      String address = "127.0.0.1:" + refusing.getLocalPort();
      assertThat(refusedByProbe(Map.of("address", address))).isEqualTo("topic");
    }
    assertThat(refusedByProbe(Map.of("lose", "at:0"))).isNull();
  }

  @Test
  void aRefusedTopicOfATrialIsToldToo() throws Exception {
    try (ServerSocket refusing = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Thread server = new Thread(() -> refuseOnce(refusing));
      server.setDaemon(true);
      server.start();
      String address = "127.0.0.1:" + refusing.getLocalPort();
      PrepareRequest order = TestWorker.order(Map.of("address", address), 1).build();
      StatusRuntimeException failure =
          catchThrowableOfType(StatusRuntimeException.class, () -> worker.stub.prepare(order));
      assertThat(failure).hasMessageContaining("no more topics");
      assertThat(failure.getTrailers().get(Replies.REFUSED)).isEqualTo("topic");
    }
  }

  @Test
  void whoIsNotReachedRefusesNoTopic() {
    assertThat(refusedByProbe(Map.of("address", "127.0.0.1:1"))).isNull();
  }

  private static void refuseOnce(ServerSocket refusing) {
    try (Socket socket = refusing.accept()) {
      socket.getInputStream().read();
      new DataOutputStream(socket.getOutputStream()).writeUTF("no more topics");
      socket.getInputStream().readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String refusedByProbe(Map<String, String> settings) {
    ProbeRequest request =
        ProbeRequest.newBuilder()
            .setConnection(TestWorker.connection(settings))
            .setTopic("probe-1")
            .setTimeoutMs(200)
            .build();
    StatusRuntimeException failure =
        catchThrowableOfType(StatusRuntimeException.class, () -> worker.stub.probe(request));
    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    return failure.getTrailers().get(Replies.REFUSED);
  }

  @Test
  void theWitnessSendsOneMessageAtATimeAndTellsWhen() {
    long before = System.nanoTime();
    WitnessReply reply = worker.stub.witness(witness(Map.of("ack_delay_us", "3000"), 30_000));
    long after = System.nanoTime();
    assertThat(reply.getMessagesList()).hasSize(5);
    long free = before;
    for (AckedMessage message : reply.getMessagesList()) {
      assertThat(message.getSentMonoNs()).isGreaterThanOrEqualTo(free);
      assertThat(message.getAckedMonoNs() - message.getSentMonoNs())
          .isGreaterThanOrEqualTo(3_000_000);
      free = message.getAckedMonoNs() + 2_000_000;
    }
    assertThat(after).isGreaterThan(reply.getMessages(4).getAckedMonoNs());
  }

  @Test
  void aWitnessWhoseMessageIsNotAcknowledgedFails() {
    refused(
        Status.Code.UNAVAILABLE,
        "message 2 to topic t0 was not acknowledged:",
        () -> worker.stub.witness(witness(Map.of("fail_stored", "at:2"), 30_000)));
    refused(
        Status.Code.UNAVAILABLE,
        "message 0 to topic t0 was not acknowledged within 500 ms",
        () -> worker.stub.witness(witness(Map.of("ack_delay_us", "2000000"), 500)));
  }

  private static WitnessRequest witness(Map<String, String> settings, int timeoutMs) {
    return WitnessRequest.newBuilder()
        .setOrder(TestWorker.order(settings, 1))
        .setMessages(5)
        .setPauseMs(2)
        .setTimeoutMs(timeoutMs)
        .build();
  }

  @Test
  void describeTellsTheSystemsSettings() {
    DescribeReply reply =
        worker.stub.describe(
            DescribeRequest.newBuilder()
                .setConnection(TestWorker.connection(Map.of("ack_delay_us", "70")))
                .build());
    assertThat(reply.getSettingsList())
        .anySatisfy(
            s -> {
              assertThat(s.getName()).isEqualTo("ack_delay_us");
              assertThat(s.getValue()).isEqualTo("70");
              assertThat(s.getIsDefault()).isFalse();
            });
  }

  @Test
  void wrongOrdersAreRefusedWithTheReason() {
    refused(
        Status.Code.FAILED_PRECONDITION,
        "no trial is prepared",
        () -> worker.stub.start(StartRequest.getDefaultInstance()));
    refused(
        Status.Code.FAILED_PRECONDITION,
        "no driver 'nosuch'",
        () ->
            worker.stub.prepare(
                TestWorker.order(Map.of(), 1)
                    .setConnection(Connection.newBuilder().setDriver("nosuch"))
                    .build()));
    refused(
        Status.Code.FAILED_PRECONDITION,
        "unknown setting 'loose'",
        () -> worker.stub.prepare(TestWorker.order(Map.of("loose", "at:1"), 1).build()));
    refused(
        Status.Code.INVALID_ARGUMENT,
        "message_bytes must be 1 to 20971520",
        () ->
            worker.stub.prepare(
                TestWorker.order(Map.of(), 1)
                    .setPayload(Payload.newBuilder().setMessageBytes((20 << 20) + 1))
                    .build()));
  }

  @Test
  void anUnreadablePayloadFileIsRefused() {
    refused(
        Status.Code.FAILED_PRECONDITION,
        "payload file",
        () ->
            worker.stub.prepare(
                TestWorker.order(Map.of(), 1)
                    .setPayload(
                        Payload.newBuilder().setMessageBytes(100).setFile("/nonexistent/file"))
                    .build()));
  }

  @Test
  void aSecondTrialNeedsTheFirstToBeFinished() {
    worker.stub.prepare(TestWorker.order(Map.of(), 1).build());
    refused(
        Status.Code.FAILED_PRECONDITION,
        "finish it first",
        () -> worker.stub.prepare(TestWorker.order(Map.of(), 1).build()));
    worker.stub.finish(FinishRequest.getDefaultInstance());
    worker.stub.prepare(TestWorker.order(Map.of(), 1).build());
    worker.stub.finish(FinishRequest.getDefaultInstance());
  }

  @Test
  void aSilentControllerEndsTheWorker() throws Exception {
    worker.lease.startWaitingForController(60_000);
    StreamObserver<HoldRequest> hold = hold();
    hold.onNext(HoldRequest.newBuilder().setLeaseMs(2_000).build());
    assertThat(worker.ends.poll(150, TimeUnit.MILLISECONDS)).isNull();
    assertThat(worker.ends.poll(60, TimeUnit.SECONDS)).contains("silent for 2000 ms");
  }

  @Test
  @Timeout(60)
  void aBrokenLeaseEndsTheWorker() throws Exception {
    StreamObserver<HoldRequest> hold = hold();
    hold.onNext(HoldRequest.newBuilder().setLeaseMs(1).build());
    // Nobody watches this lease. That it is overdue shows that the worker has the stream: one that
    // breaks before has never begun.
    while (worker.lease.overdue() == null) {
      Thread.sleep(10);
    }
    assertThat(worker.ends).isEmpty();
    hold.onError(new IllegalStateException("controller died"));
    assertThat(worker.ends.poll(60, TimeUnit.SECONDS)).contains("lease ended");
  }

  @Test
  void aWorkerWithoutControllerEnds() throws Exception {
    worker.lease.startWaitingForController(100);
    assertThat(worker.ends.poll(60, TimeUnit.SECONDS)).contains("no controller came");
  }

  @Test
  void shutdownEndsTheWorker() throws Exception {
    worker.stub.shutdown(ShutdownRequest.getDefaultInstance());
    assertThat(worker.ends.poll(60, TimeUnit.SECONDS)).contains("told to");
  }

  @Test
  @Timeout(60)
  void aWorkerThatWritesAnArchiveEndsByItselfAndLeavesNobodyTimeToCutItShort() throws Exception {
    StreamObserver<HoldRequest> hold = hold();
    hold.onNext(HoldRequest.newBuilder().setLeaseMs(1).build());
    while (worker.lease.overdue() == null) {
      Thread.sleep(10);
    }
    worker.stub.shutdown(ShutdownRequest.newBuilder().setWriteArchive(true).build());
    assertThat(worker.exits.poll(60, TimeUnit.SECONDS)).contains("told to");
    assertThat(worker.lease.overdue()).isNull();
    worker.lease.broken("the controller is done");
    assertThat(worker.ends).isEmpty();
  }

  private StreamObserver<HoldRequest> hold() {
    return worker.async.hold(
        new StreamObserver<>() {
          @Override
          public void onNext(HoldReply reply) {}

          @Override
          public void onError(Throwable t) {}

          @Override
          public void onCompleted() {}
        });
  }
}
