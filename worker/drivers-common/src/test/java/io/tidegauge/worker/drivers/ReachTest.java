package io.tidegauge.worker.drivers;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.AccessException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A TLS 1.3 server that wants a client certificate, and a client that has none. */
class ReachTest {
  private static final long PAUSE_MS = 100;
  private final CountDownLatch hungUp = new CountDownLatch(1);

  @TempDir private Path directory;

  private SSLServerSocket server;

  @BeforeEach
  void listen() throws Exception {
    server = TestTls.listening(directory, "ip:127.0.0.1");
    server.setNeedClientAuth(true);
    Thread acceptor = new Thread(this::serve, "tls-server");
    acceptor.setDaemon(true);
    acceptor.start();
  }

  private void serve() {
    while (!server.isClosed()) {
      try (SSLSocket socket = (SSLSocket) server.accept()) {
        socket.startHandshake();
      } catch (IOException e) {
        // No certificate came: the alert is sent, and the connection closed.
        hungUp.countDown();
      }
    }
  }

  @AfterEach
  void close() throws IOException {
    server.close();
  }

  @Test
  void aServerAnswersTlsInKindOrNot() throws Exception {
    assertThat(Reach.speaksTls(new Reach.Address("127.0.0.1", server.getLocalPort()))).isTrue();
    try (ServerSocket plain = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      Thread answering = new Thread(() -> answerInPlainText(plain), "plain-server");
      answering.setDaemon(true);
      answering.start();
      Reach.Address address = new Reach.Address("127.0.0.1", plain.getLocalPort());
      assertThat(Reach.speaksTls(address)).isFalse();
    }
  }

  private static void answerInPlainText(ServerSocket plain) {
    try (Socket socket = plain.accept()) {
      socket.getOutputStream().write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(US_ASCII));
      socket.getInputStream().read();
    } catch (IOException e) {
      // The test fails then.
    }
  }

  @Test
  void whoeverIsStillWritingLearnsWhyTheServerHungUp() throws Exception {
    TlsContext tls = TestTls.client(directory, /* verifyHost= */ true);
    Reach.Greeting slow =
        (in, out) -> {
          await();
          for (int word = 0; word < 5; word++) {
            pause();
            out.write(1);
            out.flush();
          }
        };
    String address = "127.0.0.1:" + server.getLocalPort();
    Reach reach = new Reach("Kafka", tls, /* verifyHost= */ true, slow);
    assertThatThrownBy(() -> reach.check(List.of(address)))
        .isInstanceOf(AccessException.class)
        .hasMessageContaining("client certificate");
  }

  private void await() throws IOException {
    try {
      if (!hungUp.await(60, TimeUnit.SECONDS)) {
        throw new IOException("the server did not hang up");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  private static void pause() throws IOException {
    try {
      Thread.sleep(PAUSE_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }
}
