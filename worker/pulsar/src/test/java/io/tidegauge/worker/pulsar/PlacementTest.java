package io.tidegauge.worker.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.tidegauge.worker.api.DriverException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PlacementTest {
  private static final List<String> BROKERS = List.of("a:1", "b:1", "c:1");

  /** Says what a test lets it say; a broker of its own is part of the integration tests. */
  private HttpServer server;

  private final Map<String, String> answers = new TreeMap<>();

  @BeforeEach
  void serve() throws Exception {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/admin/v2/",
        exchange -> {
          String path = exchange.getRequestURI().getPath().substring("/admin/v2/".length());
          byte[] body = answers.getOrDefault(path, "").getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(answers.containsKey(path) ? 200 : 403, 0);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  @Test
  void equalBundlesAreSpreadEvenly() {
    Map<String, String> decided =
        Placement.assign(Map.of("w", 1, "v", 1, "x", 1, "y", 1, "z", 1, "u", 1), Map.of(), BROKERS);
    for (String broker : BROKERS) {
      assertThat(decided.values().stream().filter(broker::equals)).hasSize(2);
    }
  }

  /** Whatever each sees of what the others have moved meanwhile. */
  @Test
  void workersThatCreateTopicsTogetherMoveEachBundleOnceAndToTheBrokerThatAllAgreeOn() {
    Map<String, String> together = new TreeMap<>();
    for (int worker = 0; worker < 3; worker++) {
      Map<String, Boolean> partitions = new LinkedHashMap<>();
      for (int topic = 0; topic < 12; topic++) {
        partitions.put("topic-" + topic, topic % 3 == worker);
      }
      Map<String, String> seen = worker == 0 ? Map.of() : Map.of("bundle-9", "c:1");
      Placement.moves(partitions, name -> bundle(name, 10), seen, BROKERS)
          .forEach((bundle, broker) -> assertThat(together.put(bundle, broker)).isNull());
    }
    Map<String, Boolean> all = new LinkedHashMap<>();
    for (int topic = 0; topic < 12; topic++) {
      all.put("topic-" + topic, true);
    }
    assertThat(together)
        .isEqualTo(Placement.moves(all, name -> bundle(name, 10), Map.of(), BROKERS));
  }

  private static String bundle(String topic, int bundles) {
    return "bundle-" + Integer.parseInt(topic.substring("topic-".length())) % bundles;
  }

  @Test
  void aBundleOfTwoPartitionsCountsTwice() {
    Map<String, String> decided =
        Placement.assign(Map.of("heavy", 2, "x", 1, "y", 1), Map.of(), List.of("a:1", "b:1"));
    assertThat(decided.get("x")).isEqualTo(decided.get("y")).isNotEqualTo(decided.get("heavy"));
  }

  @Test
  void aBundleStaysWhereItIsUnlessThatIsUneven() {
    assertThat(Placement.assign(Map.of("x", 1), Map.of("x", "c:1"), BROKERS))
        .containsEntry("x", "c:1");
    Map<String, String> decided =
        Placement.assign(Map.of("x", 1, "y", 1), Map.of("x", "a:1", "y", "a:1"), BROKERS);
    assertThat(decided.values()).doesNotHaveDuplicates();
  }

  @Test
  void aPartitionBelongsToTheRangeOfItsHash() throws DriverException {
    answers.put(
        "namespaces/public/default/bundles",
        "{\"boundaries\":[\"0x00000000\",\"0x80000000\",\"0xffffffff\"],\"numBundles\":2}");
    Bundles bundles = Bundles.of(rest(), "public/default");
    // CRC-32 by another implementation (zlib): 0x3da51034 and 0x823cd929.
    assertThat(bundles.of("persistent://public/default/t-partition-0"))
        .isEqualTo("0x00000000_0x80000000");
    assertThat(bundles.of("persistent://public/default/t")).isEqualTo("0x80000000_0xffffffff");
  }

  @Test
  void ownersAreUnknownWithoutTheRightToAsk() throws DriverException {
    answers.put(
        "namespaces/public/default/bundles", "{\"boundaries\":[\"0x00000000\",\"0xffffffff\"]}");
    Bundles bundles = Bundles.of(rest(), "public/default");
    String broker = "127.0.0.1:" + server.getAddress().getPort();
    assertThat(bundles.owners(List.of(broker))).isEmpty();
    answers.put(
        "brokers/any/" + broker + "/ownedNamespaces",
        "{\"public/default/0x00000000_0xffffffff\":{},\"public/other/0x00000000_0x10000000\":{}}");
    assertThat(bundles.owners(List.of(broker)).orElseThrow())
        .isEqualTo(Map.of("0x00000000_0xffffffff", broker));
  }

  @Test
  void topicsWaitForAllBrokers() throws DriverException {
    answers.put("brokers", "[\"127.0.0.1:1\"]");
    new Placement(rest(), connection(Map.of())).requireBrokers();
    new Placement(rest(), connection(Map.of("brokers", "1"))).requireBrokers();
    Placement three = new Placement(rest(), connection(Map.of("brokers", "3")));
    assertThatThrownBy(three::requireBrokers)
        .isInstanceOf(DriverException.class)
        .hasMessage("Pulsar has 1 of 3 brokers active");
    assertThatThrownBy(() -> connection(Map.of("brokers", "many")))
        .isInstanceOf(DriverException.class)
        .hasMessageContaining("\"many\"");
  }

  private AdminRest rest() throws DriverException {
    return new AdminRest(connection(Map.of()));
  }

  private Connection connection(Map<String, String> more) throws DriverException {
    Map<String, String> settings = new TreeMap<>(more);
    settings.put("serviceUrl", "pulsar://127.0.0.1:1");
    settings.put("adminUrl", "http://127.0.0.1:" + server.getAddress().getPort());
    return Connection.of(settings);
  }
}
