package io.tidegauge.worker.drivers;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.AccessException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A TLS server whose certificate is trusted and names another host. */
class HostNameTest {
  @TempDir private Path directory;

  private SSLServerSocket server;

  @BeforeEach
  void listen() throws Exception {
    server = TestTls.listening(directory, "dns:elsewhere.invalid");
    Thread acceptor = new Thread(this::serve, "tls-server");
    acceptor.setDaemon(true);
    acceptor.start();
  }

  private void serve() {
    while (!server.isClosed()) {
      try (SSLSocket socket = (SSLSocket) server.accept()) {
        socket.startHandshake();
        socket.getOutputStream().write(1);
      } catch (IOException e) {
        // The client does not like the certificate.
      }
    }
  }

  @AfterEach
  void close() throws IOException {
    server.close();
  }

  private void check(boolean verifyHost) throws Exception {
    TlsContext tls = TestTls.client(directory, verifyHost);
    Reach.Greeting listening = (in, out) -> in.read();
    new Reach("Kafka", tls, verifyHost, listening)
        .check(List.of("127.0.0.1:" + server.getLocalPort()));
  }

  @Test
  void theServersHostNameIsCheckedUnlessThatWasForbidden() {
    assertThatThrownBy(() -> check(true))
        .isInstanceOf(AccessException.class)
        .hasMessageContaining("certificate is for another host name");
    assertThatCode(() -> check(false)).doesNotThrowAnyException();
  }
}
