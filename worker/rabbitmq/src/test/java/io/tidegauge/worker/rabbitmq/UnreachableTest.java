package io.tidegauge.worker.rabbitmq;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the user reads when there is no node: of the AMQP address first, which users know. */
class UnreachableTest {
  @Test
  @Timeout(20)
  void nobodyListens() throws Exception {
    String node = "127.0.0.1:" + freePort();
    try (Driver driver = new RabbitmqDriverFactory().open(connection(node))) {
      assertThatThrownBy(() -> driver.describe(List.of()))
          .isInstanceOf(DriverException.class)
          .hasMessageStartingWith("RabbitMQ could not be reached at " + node + ": ");
    }
  }

  @Test
  @Timeout(40)
  void theNodeAcceptsButNeverAnswers() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      String node = "127.0.0.1:" + silent.getLocalPort();
      try (Driver driver = new RabbitmqDriverFactory().open(connection(node))) {
        assertThatThrownBy(() -> driver.describe(List.of()))
            .isInstanceOf(DriverException.class)
            .hasMessageStartingWith("RabbitMQ could not be reached at " + node + ": ");
      }
    }
  }

  private static Map<String, String> connection(String node) {
    return Map.of("uri", "amqp://" + node, "managementUrl", "http://" + node);
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }
}
