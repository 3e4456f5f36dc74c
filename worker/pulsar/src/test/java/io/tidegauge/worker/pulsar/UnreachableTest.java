package io.tidegauge.worker.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.DriverFactory;
import io.tidegauge.worker.api.TopicSpec;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the user reads when there is no broker. */
class UnreachableTest {
  @Test
  @Timeout(20)
  void nobodyListens() throws Exception {
    String server = "127.0.0.1:" + freePort();
    try (Driver driver = new PulsarDriverFactory().open(connection(server))) {
      assertThatThrownBy(() -> driver.createTopics(List.of(new TopicSpec("t", 1, 1, Map.of()))))
          .isInstanceOf(DriverException.class)
          .hasMessage("No Pulsar broker reachable at " + server + " (connection refused)");
    }
  }

  @Test
  @Timeout(60)
  void noSuchHost() throws Exception {
    try (Driver driver = new PulsarDriverFactory().open(connection("no-such-host.invalid:6650"))) {
      assertThatThrownBy(() -> driver.createTopics(List.of()))
          .hasMessage("No Pulsar broker reachable at no-such-host.invalid:6650 (unknown host)");
    }
  }

  @Test
  @Timeout(20)
  void whoAsksLearnsOfTheBrokerFirst() throws Exception {
    String server = "127.0.0.1:" + freePort();
    try (Driver driver = new PulsarDriverFactory().open(connection(server))) {
      assertThatThrownBy(() -> driver.describe(List.of()))
          .isInstanceOf(DriverException.class)
          .hasMessage("No Pulsar broker reachable at " + server + " (connection refused)");
    }
  }

  @Test
  @Timeout(20)
  void theAdminApiDoesNotAnswer() throws Exception {
    try (ServerSocket broker = broker();
        Driver driver = beside(broker, "127.0.0.1:" + freePort())) {
      assertThatThrownBy(() -> driver.describe(List.of()))
          .isInstanceOf(DriverException.class)
          .hasMessageStartingWith("Pulsar's admin API at http://127.0.0.1:")
          .hasMessageEndingWith(" does not answer: connection refused");
    }
  }

  @Test
  @Timeout(40)
  void anAdminApiThatSaysNothingIsNotWaitedForAsForAThousandPartitions() throws Exception {
    try (ServerSocket broker = broker();
        ServerSocket silent = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        Driver driver = beside(broker, "127.0.0.1:" + silent.getLocalPort())) {
      assertThatThrownBy(() -> driver.describe(List.of()))
          .isInstanceOf(DriverException.class)
          .hasMessageStartingWith("Pulsar's admin API at http://127.0.0.1:");
    }
  }

  /** It answers each client's first word with four bytes. */
  private static ServerSocket broker() throws IOException {
    ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
    Thread answering =
        new Thread(
            () -> {
              while (!server.isClosed()) {
                try (Socket client = server.accept()) {
                  client.getInputStream().read();
                  client.getOutputStream().write(new byte[4]);
                } catch (IOException e) {
                  // It is closed, or its client went.
                }
              }
            });
    answering.setDaemon(true);
    answering.start();
    return server;
  }

  private static Driver beside(ServerSocket broker, String admin) throws DriverException {
    String service = "pulsar://127.0.0.1:" + broker.getLocalPort();
    return new PulsarDriverFactory()
        .open(Map.of("serviceUrl", service, "adminUrl", "http://" + admin));
  }

  @Test
  void thereMustBeAnAddress() {
    assertThatThrownBy(() -> new PulsarDriverFactory().open(Map.of()))
        .hasMessageStartingWith("Pulsar needs the connection setting serviceUrl");
  }

  @Test
  void theFactoryIsFoundAndKnowsTheClientsVersion() {
    assertThat(ServiceLoader.load(DriverFactory.class))
        .singleElement()
        .satisfies(factory -> assertThat(factory.name()).isEqualTo("pulsar"))
        .satisfies(
            factory ->
                assertThat(factory.clientVersion()).matches("pulsar-client \\d+\\.\\d+\\.\\d+"));
  }

  private static Map<String, String> connection(String server) {
    return Map.of("serviceUrl", "pulsar://" + server, "adminUrl", "http://" + server);
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }
}
