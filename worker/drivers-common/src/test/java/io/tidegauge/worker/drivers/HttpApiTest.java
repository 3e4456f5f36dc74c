package io.tidegauge.worker.drivers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.tidegauge.worker.api.AccessException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls to servers with and without TLS, as a user may mix them up. */
class HttpApiTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final InetSocketAddress ANY =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  @TempDir private Path directory;

  private HttpServer server;

  /** Answers with the method, the path, a header and the body of the request. */
  private void serve(HttpServer opened) {
    server = opened;
    server.createContext(
        "/",
        exchange -> {
          String body =
              exchange.getRequestMethod()
                  + " "
                  + exchange.getRequestURI().getRawPath()
                  + " "
                  + exchange.getRequestHeaders().getFirst("Authorization")
                  + " "
                  + new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
          byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(200, bytes.length);
          exchange.getResponseBody().write(bytes);
          exchange.close();
        });
    server.start();
  }

  private void serveWithTls(String host) throws Exception {
    HttpsServer secured = HttpsServer.create(ANY, 0);
    secured.setHttpsConfigurator(new HttpsConfigurator(TestTls.server(directory, host)));
    serve(secured);
  }

  @AfterEach
  void stop() {
    if (server != null) {
      server.stop(0);
    }
  }

  private String base(String scheme) {
    return scheme + "://127.0.0.1:" + server.getAddress().getPort();
  }

  private static HttpApi api(TlsContext tls) {
    return new HttpApi("Pulsar's admin API", "adminUrl", tls, TIMEOUT);
  }

  private static String get(HttpApi api, String base) throws Exception {
    return get(api, base, TIMEOUT);
  }

  private static String get(HttpApi api, String base, Duration timeout) throws Exception {
    return api.call("GET", base, "/x", Map.of(), null, timeout).body();
  }

  @Test
  void aCallCarriesItsBodyAndWhoWeAre() throws Exception {
    serve(HttpServer.create(ANY, 0));
    Map<String, String> headers = Map.of("Authorization", "Bearer b");
    HttpApi.Answer answer =
        api(null).call("PUT", base("http"), "/a%2Fb", headers, "{\"c\":1}", TIMEOUT);
    assertThat(answer.body()).isEqualTo("PUT /a%2Fb Bearer b {\"c\":1}");
    assertThat(answer.isGood()).isTrue();
  }

  @Test
  void theServersCertificateAndHostAreChecked() throws Exception {
    serveWithTls("ip:127.0.0.1");
    assertThat(get(api(TestTls.client(directory, true)), base("https"))).startsWith("GET /x");
    assertThatThrownBy(() -> get(api(null), base("https")))
        .isInstanceOf(AccessException.class)
        .hasMessageStartingWith("TLS with Pulsar's admin API at " + base("https") + " failed: ")
        .hasMessageContaining("the server's certificate is not trusted");
  }

  @Test
  void theHostMayBeWaived() throws Exception {
    serveWithTls("dns:elsewhere.invalid");
    assertThatThrownBy(() -> get(api(TestTls.client(directory, true)), base("https")))
        .isInstanceOf(AccessException.class)
        .hasMessageContaining("certificate is for another host name");
    assertThat(get(api(TestTls.client(directory, false)), base("https"))).startsWith("GET /x");
  }

  @Test
  void tlsOnOneSideOnlyIsNamed() throws Exception {
    serveWithTls("ip:127.0.0.1");
    assertThatThrownBy(() -> get(api(null), base("http")))
        .isInstanceOf(AccessException.class)
        .hasMessage(
            "Pulsar's admin API at "
                + base("http")
                + " wants TLS: adminUrl must begin with https://");
    try (ServerSocket plain = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Thread answering = new Thread(() -> refuseRequests(plain));
      answering.setDaemon(true);
      answering.start();
      assertThatThrownBy(() -> get(api(null), "https://127.0.0.1:" + plain.getLocalPort()))
          .isInstanceOf(AccessException.class)
          .hasMessageContaining("the server speaks no TLS at this port");
    }
  }

  /**
   * Answers whatever comes at once, as real servers do. The JDK's waits for the end of a line,
   * which the random bytes that TLS begins with may or may not have.
   */
  private static void refuseRequests(ServerSocket plain) {
    try {
      while (true) {
        try (Socket connection = plain.accept()) {
          connection.getInputStream().read();
          byte[] refusal = "HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(StandardCharsets.UTF_8);
          connection.getOutputStream().write(refusal);
          connection.shutdownOutput();
          connection.getInputStream().transferTo(OutputStream.nullOutputStream());
        }
      }
    } catch (IOException e) {
      // The test is over.
    }
  }

  @Test
  void whyNoAnswerCameIsSaidInWords() throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    assertThat(words("http://127.0.0.1:" + port)).isEqualTo("connection refused");
    assertThat(words("http://no-such-host.invalid")).isEqualTo("unknown host");
  }

  @Test
  void anAnswerThatNeverEndsIsGivenUp() throws Exception {
    server = HttpServer.create(ANY, 0);
    CountDownLatch over = new CountDownLatch(1);
    server.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(200, 100);
          exchange.getResponseBody().write('x');
          exchange.getResponseBody().flush();
          try {
            over.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
          exchange.close();
        });
    server.start();
    Duration soon = Duration.ofMillis(200);
    HttpApi api = new HttpApi("Pulsar's admin API", "adminUrl", null, soon);
    try {
      assertThatThrownBy(() -> get(api, base("http"), soon))
          .isInstanceOf(IOException.class)
          .hasMessage("its answer was not complete in time");
    } finally {
      over.countDown();
    }
  }

  @Test
  void aServerThatHangsIsAskedForTlsOnceOnly() throws Exception {
    AtomicInteger accepted = new AtomicInteger();
    try (ServerSocket mute = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      Thread accepting =
          new Thread(
              () -> {
                try {
                  while (true) {
                    mute.accept();
                    accepted.incrementAndGet();
                  }
                } catch (IOException e) {
                  // It is closed.
                }
              });
      accepting.setDaemon(true);
      accepting.start();
      Duration soon = Duration.ofMillis(200);
      HttpApi api = new HttpApi("Pulsar's admin API", "adminUrl", null, soon);
      String base = "http://127.0.0.1:" + mute.getLocalPort();
      for (int call = 0; call < 2; call++) {
        assertThatThrownBy(() -> get(api, base, soon)).isInstanceOf(IOException.class);
      }
      assertThat(accepted.get()).isLessThanOrEqualTo(3);
    }
  }

  private static String words(String base) {
    try {
      return get(api(null), base);
    } catch (IOException e) {
      return HttpApi.words(e);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void whoIsOverloadedOrFailsRefusesNothing() {
    assertThat(List.of(400, 403, 404, 409, 412)).allMatch(HttpApiTest::isRefusal);
    assertThat(List.of(200, 204, 307, 408, 429, 500, 503)).noneMatch(HttpApiTest::isRefusal);
  }

  private static boolean isRefusal(int status) {
    return new HttpApi.Answer(status, "").isRefusal();
  }

  @Test
  void aReasonIsFoundInJsonOnly() {
    assertThat(new HttpApi.Answer(401, "{\"reason\": \" no right \"}").reason())
        .isEqualTo("no right");
    assertThat(new HttpApi.Answer(401, "{\"other\": 1}").reason()).isEmpty();
    assertThat(new HttpApi.Answer(401, "<html>no</html>").reason()).isEmpty();
    assertThat(new HttpApi.Answer(401, "").reason()).isEmpty();
  }
}
