package io.tidegauge.worker.drivers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Servers without TLS that accept connections. */
class ReachPlainTest {
  private final List<ServerSocket> servers = new ArrayList<>();

  @BeforeEach
  void listen() throws IOException {
    for (int i = 0; i < 2; i++) {
      servers.add(new ServerSocket(0, 5, InetAddress.getLoopbackAddress()));
    }
  }

  @AfterEach
  void close() throws IOException {
    for (ServerSocket server : servers) {
      server.close();
    }
  }

  private String address(int server) {
    return "127.0.0.1:" + servers.get(server).getLocalPort();
  }

  /** Refuses the first so many. */
  private static Reach refusing(int first) {
    int[] greeted = new int[1];
    return new Reach(
        "Kafka",
        /* tls= */ null,
        /* verifyHost= */ true,
        (in, out) -> {
          if (greeted[0]++ < first) {
            throw new AccessException("no entry", null);
          }
        });
  }

  @Test
  void aServerThatRefusesDoesNotHideOneThatCanBeUsed() {
    List<String> both = List.of(address(0), address(1));
    assertThatCode(() -> refusing(1).check(both)).doesNotThrowAnyException();
    assertThatThrownBy(() -> refusing(2).check(both))
        .isInstanceOf(AccessException.class)
        .hasMessage("no entry");
  }

  @Test
  void aPortThatThereCantBeIsNamed() {
    assertThatThrownBy(() -> refusing(0).check(List.of("127.0.0.1:70000")))
        .hasMessage("No Kafka broker reachable at 127.0.0.1:70000 (not of the form host:port)");
  }

  @Test
  @Timeout(20)
  void aServerThatSaysNothingIsNotWaitedForAsTheClientWould() {
    Reach waiting =
        new Reach(
            "Kafka", /* tls= */ null, /* verifyHost= */ true, (in, out) -> assertEnd(in.read()));
    assertThatThrownBy(() -> waiting.check(List.of(address(0))))
        .isExactlyInstanceOf(DriverException.class)
        .hasMessage(
            "No Kafka broker reachable at "
                + address(0)
                + " (it accepts connections and says nothing for 10 s)");
  }

  private static void assertEnd(int read) {
    assertThat(read).as("what the server said").isNegative();
  }

  @Test
  void noAnswerIsWaitedForWithoutEnd() throws IOException {
    try (Socket socket = Reach.connected(Reach.Address.of(address(0)))) {
      assertThat(socket.getSoTimeout()).isPositive();
    }
  }
}
