package io.tidegauge.worker.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import io.tidegauge.worker.proto.*;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The worker as a process of its own. */
class ProcessTest {
  @TempDir Path directory;
  private Process process;

  @AfterEach
  void kill() {
    if (process != null) {
      process.destroyForcibly();
    }
  }

  private void launch(String firstLine, String... args) throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx64m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            Main.class.getName());
    builder.command().addAll(java.util.List.of(args));
    builder.redirectError(directory.resolve("stderr").toFile());
    // From a file: a process that ends at once has closed a pipe before we have written to it.
    Path input = Files.writeString(directory.resolve("stdin"), firstLine);
    builder.redirectInput(input.toFile());
    process = builder.start();
  }

  private String stderr() throws IOException {
    return Files.readString(directory.resolve("stderr"));
  }

  private int port(Path file) throws Exception {
    while (!Files.exists(file)) {
      assertThat(process.isAlive()).as(stderr()).isTrue();
      Thread.sleep(10);
    }
    return Integer.parseInt(Files.readString(file).strip());
  }

  @Test
  void servesUntilItsControllerIsGone() throws Exception {
    Path portFile = directory.resolve("port");
    launch(
        TestWorker.SECRET + "\n",
        "--port-file",
        portFile.toString(),
        "--results",
        directory.toString());
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", port(portFile)).usePlaintext().build();
    Metadata headers = new Metadata();
    headers.put(SecretCheck.KEY, TestWorker.SECRET);
    var secured =
        ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(headers));
    HandshakeReply reply =
        WorkerGrpc.newBlockingStub(secured)
            .handshake(
                HandshakeRequest.newBuilder()
                    .setProtocolVersion(Introduction.PROTOCOL_VERSION)
                    .build());
    assertThat(reply.getPid()).isEqualTo(process.pid());
    StreamObserver<HoldRequest> hold = WorkerGrpc.newStub(secured).hold(new Ignore());
    hold.onNext(HoldRequest.newBuilder().setLeaseMs(60_000).build());
    assertThat(process.waitFor(300, TimeUnit.MILLISECONDS)).isFalse();
    // As when the controller is killed: the connection breaks.
    channel.shutdownNow();
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(stderr()).contains("the controller's lease ended");
  }

  @Test
  void refusesToStartWithoutASecret() throws Exception {
    launch(
        "\n",
        "--port-file",
        directory.resolve("port").toString(),
        "--results",
        directory.toString());
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isEqualTo(2);
    assertThat(stderr()).contains("must be a secret");
  }

  @Test
  void saysHowItIsUsed() throws Exception {
    launch("\n", "--listen", "0.0.0.0");
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isEqualTo(2);
    assertThat(stderr()).contains("usage:");
  }

  private static final class Ignore implements StreamObserver<HoldReply> {
    @Override
    public void onNext(HoldReply reply) {}

    @Override
    public void onError(Throwable t) {}

    @Override
    public void onCompleted() {}
  }
}
