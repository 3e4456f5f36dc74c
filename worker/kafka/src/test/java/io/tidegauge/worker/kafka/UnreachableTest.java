package io.tidegauge.worker.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.DriverFactory;
import io.tidegauge.worker.api.TopicSpec;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
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
    try (Driver driver = new KafkaDriverFactory().open(Map.of("bootstrap.servers", server))) {
      assertThatThrownBy(() -> driver.createTopics(List.of(new TopicSpec("t", 1, 1, Map.of()))))
          .isInstanceOf(DriverException.class)
          .hasMessage("No Kafka broker reachable at " + server + " (connection refused)");
    }
  }

  @Test
  @Timeout(60)
  void noSuchHost() throws Exception {
    try (Driver driver =
        new KafkaDriverFactory().open(Map.of("bootstrap.servers", "no-such-host.invalid:9092"))) {
      assertThatThrownBy(() -> driver.describe(List.of()))
          .hasMessage("No Kafka broker reachable at no-such-host.invalid:9092 (unknown host)");
    }
  }

  @Test
  @Timeout(60)
  void theServerAcceptsButNeverAnswers() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Driver driver =
            new KafkaDriverFactory()
                .open(
                    Map.of(
                        "bootstrap.servers",
                        "127.0.0.1:" + silent.getLocalPort(),
                        "default.api.timeout.ms",
                        "1000"))) {
      assertThatThrownBy(() -> driver.createTopics(List.of(new TopicSpec("t", 1, 1, Map.of()))))
          .isInstanceOf(DriverException.class)
          .hasMessageEndingWith(" (it accepts connections and says nothing for 10 s)");
    }
  }

  @Test
  void thereMustBeAnAddress() {
    assertThatThrownBy(() -> new KafkaDriverFactory().open(Map.of()))
        .hasMessageStartingWith("Kafka needs the connection setting bootstrap.servers");
  }

  @Test
  void theFactoryIsFoundAndKnowsTheClientsVersion() {
    assertThat(ServiceLoader.load(DriverFactory.class))
        .singleElement()
        .satisfies(factory -> assertThat(factory.name()).isEqualTo("kafka"))
        .satisfies(
            factory ->
                assertThat(factory.clientVersion()).matches("kafka-clients \\d+\\.\\d+\\.\\d+"));
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }
}
