package io.tidegauge.worker.api;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A TLS 1.3 server that wants a client certificate, and a client that has none. */
class ReachTest {
  private static final char[] PASSWORD = "changeit".toCharArray();

  private static final long PAUSE_MS = 100;
  private final CountDownLatch hungUp = new CountDownLatch(1);

  @TempDir private Path directory;

  private SSLServerSocket server;

  @BeforeEach
  void listen() throws Exception {
    Path store = directory.resolve("server.p12");
    Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
    String options =
        "-genkeypair -alias own -keyalg RSA -dname CN=localhost -ext san=ip:127.0.0.1"
            + " -storetype PKCS12 -storepass changeit -keystore ";
    List<String> command = new ArrayList<>(List.of(keytool.toString()));
    command.addAll(List.of(options.trim().split(" ")));
    command.add(store.toString());
    new ProcessBuilder(command).redirectErrorStream(true).start().waitFor();

    KeyStore own = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      own.load(in, PASSWORD);
    }
    Files.writeString(
        directory.resolve("ca.pem"),
        Pem.block("CERTIFICATE", own.getCertificate("own").getEncoded()));
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(own, PASSWORD);
    SSLContext context = SSLContext.getInstance("TLSv1.3");
    context.init(keys.getKeyManagers(), /* tm= */ null, /* random= */ null);
    server =
        (SSLServerSocket)
            context
                .getServerSocketFactory()
                .createServerSocket(0, 5, InetAddress.getLoopbackAddress());
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
  void whoeverIsStillWritingLearnsWhyTheServerHungUp() throws Exception {
    Map<String, String> settings =
        Map.of("tls.enabled", "true", "tls.ca.path", directory.resolve("ca.pem").toString());
    TlsContext tls = TlsContext.of(Security.of("kafka", settings, List.of()));
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
