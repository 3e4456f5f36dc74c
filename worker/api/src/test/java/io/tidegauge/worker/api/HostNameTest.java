package io.tidegauge.worker.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.List;
import java.util.Map;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A TLS server whose certificate is trusted and names another host. */
class HostNameTest {
  private static final char[] PASSWORD = "changeit".toCharArray();

  @TempDir private Path directory;

  private SSLServerSocket server;

  @BeforeEach
  void listen() throws Exception {
    KeyStore own = storeFor("elsewhere.invalid");
    Files.writeString(
        directory.resolve("ca.pem"),
        Pem.block("CERTIFICATE", own.getCertificate("own").getEncoded()));
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(own, PASSWORD);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), /* tm= */ null, /* random= */ null);
    server =
        (SSLServerSocket)
            context
                .getServerSocketFactory()
                .createServerSocket(0, 5, InetAddress.getLoopbackAddress());
    Thread acceptor = new Thread(this::serve, "tls-server");
    acceptor.setDaemon(true);
    acceptor.start();
  }

  private KeyStore storeFor(String host) throws Exception {
    Path store = directory.resolve("server.p12");
    Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
    String options =
        " -genkeypair -alias own -keyalg EC -storetype PKCS12 -storepass changeit -dname CN="
            + (host + " -ext san=dns:" + host + " -keystore ");
    String[] command = (keytool + options + store).split(" ");
    assertThat(new ProcessBuilder(command).redirectErrorStream(true).start().waitFor()).isZero();
    KeyStore own = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      own.load(in, PASSWORD);
    }
    return own;
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
    Map<String, String> settings =
        Map.of(
            "tls.ca.path",
            directory.resolve("ca.pem").toString(),
            "tls.verify.host",
            Boolean.toString(verifyHost));
    TlsContext tls = TlsContext.of(Security.of("Kafka", settings, List.of()));
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
