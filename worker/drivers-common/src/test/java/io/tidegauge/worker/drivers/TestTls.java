package io.tidegauge.worker.drivers;

import static org.assertj.core.api.Assertions.assertThat;

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

/** A server's certificate, signed by itself: ca.pem in the directory holds it for clients. */
final class TestTls {
  private static final char[] PASSWORD = "changeit".toCharArray();

  private TestTls() {}

  /**
   * @param host whom the certificate names: "dns:localhost", "ip:127.0.0.1"
   */
  static SSLContext server(Path directory, String host) throws Exception {
    Path store = directory.resolve("server.p12");
    Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
    String options =
        " -genkeypair -alias own -keyalg EC -storetype PKCS12 -storepass changeit -dname CN=own"
            + (" -ext san=" + host + " -keystore ");
    String[] command = (keytool + options + store).split(" ");
    assertThat(new ProcessBuilder(command).redirectErrorStream(true).start().waitFor()).isZero();
    KeyStore own = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      own.load(in, PASSWORD);
    }
    Files.writeString(
        directory.resolve("ca.pem"),
        Pem.block("CERTIFICATE", own.getCertificate("own").getEncoded()));
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(own, PASSWORD);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), /* tm= */ null, /* random= */ null);
    return context;
  }

  /** A client that trusts that certificate. */
  static TlsContext client(Path directory, boolean verifyHost) throws Exception {
    Map<String, String> settings =
        Map.of(
            "tls.ca.path",
            directory.resolve("ca.pem").toString(),
            "tls.verify.host",
            Boolean.toString(verifyHost));
    return TlsContext.of(Security.of("Kafka", settings, List.of()));
  }

  /** A server on loopback, on a free port, whose certificate is for that name. */
  static SSLServerSocket listening(Path directory, String name) throws Exception {
    return (SSLServerSocket)
        server(directory, name)
            .getServerSocketFactory()
            .createServerSocket(0, 5, InetAddress.getLoopbackAddress());
  }
}
