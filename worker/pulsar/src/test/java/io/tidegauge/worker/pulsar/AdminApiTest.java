package io.tidegauge.worker.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.Progress;
import io.tidegauge.worker.drivers.HttpApi;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is asked of the admin API, and what is made of its answers. */
class AdminApiTest {
  private static final String OWN = "/admin/v2/persistent/public/default/";
  private static final String OTHERS = "/admin/v2/persistent/sales/europe/";

  /** By method, path and query; whatever else is asked for is not there. */
  private final Map<String, String> answers = new HashMap<>();

  private final Map<String, Integer> refusals = new HashMap<>();
  private String reasons = "{'reason':'no luck with it'}";
  private HttpServer server;
  private Connection connection;

  @BeforeEach
  void serve() throws Exception {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          String call = exchange.getRequestMethod() + " " + exchange.getRequestURI();
          boolean known = answers.containsKey(call);
          byte[] body =
              answers
                  .getOrDefault(call, reasons)
                  .replace('\'', '"')
                  .getBytes(StandardCharsets.UTF_8);
          int status = known ? 200 : refusals.getOrDefault(call, 404);
          exchange.sendResponseHeaders(status, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    String url = "http://127.0.0.1:" + server.getAddress().getPort();
    connection = Connection.of(Map.of("serviceUrl", "pulsar://127.0.0.1:1", "adminUrl", url));
  }

  @AfterEach
  void stop() throws IOException {
    server.stop(0);
  }

  @Test
  void whatTheBrokerCantReadIsSaidInItsOwnWordsAndWhatIsNotThereIsNone() throws Exception {
    Entries entries = new Entries(new AdminRest(connection));
    String name = "persistent://public/default/mine";
    String path = "GET " + OWN + "mine/ledger/5/entry/";
    answers.put(path + "1", "a message");
    refusals.put(path + "2", 500);
    assertThat(entries.refusal(name, 5, 1)).isEmpty();
    assertThat(entries.refusal(name, 5, 2))
        .isEqualTo("Pulsar could not read ledger 5 entry 2: no luck with it");
    assertThat(entries.refusal(name, 6, 0)).isEmpty();
  }

  @Test
  void aBrokersWordsStandAmidItsStackAndAnEntryBehindTheLastIsNone() throws Exception {
    Entries entries = new Entries(new AdminRest(connection));
    String name = "persistent://public/default/mine";
    reasons =
        "{'reason':'\\n --- An error ---\\n\\nMessage: Entry digest does not match\\n\\nStack'}";
    refusals.put("GET " + OWN + "mine/ledger/5/entry/2", 500);
    assertThat(entries.refusal(name, 5, 2))
        .isEqualTo("Pulsar could not read ledger 5 entry 2: Entry digest does not match");
    reasons = "{'reason':'Message: LastConfirmedEntry is 5:1 when reading entry 2'}";
    assertThat(entries.refusal(name, 5, 2)).isEmpty();
  }

  @Test
  void aRefusalIsSaidWithoutTheBrokersStack() {
    String reason = "\\n --- An error ---\\n\\nMessage: Error code: -10\\n\\nStacktrace:\\n at a.B";
    assertThat(
            AdminRest.refusal("do it", new HttpApi.Answer(500, "{\"reason\":\"" + reason + "\"}")))
        .hasMessage("Pulsar could not do it: Error code: -10 (HTTP 500)");
  }

  @Test
  void aTopicIsThereIfTheMetadataStoreListsIt() throws Exception {
    Topics topics = new Topics(new AdminRest(connection), connection, Progress.NONE);
    assertThat(topics.exists("mine", 1)).isFalse();
    answers.put("GET " + OWN.replaceFirst("/$", ""), "['persistent://public/default/mine']");
    assertThat(topics.exists("mine", 1)).isTrue();
    assertThat(topics.exists("other", 1)).isFalse();
    assertThat(topics.exists("mine", 3)).isFalse();
    answers.put("GET " + OWN + "partitioned", "['persistent://public/default/mine']");
    assertThat(topics.exists("mine", 3)).isTrue();
    refusals.put("GET " + OWN + "partitioned", 503);
    answers.remove("GET " + OWN + "partitioned");
    assertThatThrownBy(() -> topics.exists("mine", 3)).hasMessageContaining("list its topics");
  }

  @Test
  void aTopicOfOthersIsDescribedWhereItIs() throws Exception {
    answers.put("GET /admin/v2/brokers", "['b:8080']");
    answers.put("GET /admin/v2/brokers/configuration/runtime", "{}");
    answers.put("GET /admin/v2/namespaces/public/default", "{}");
    answers.put("GET " + OWN + "mine/partitions", "{'partitions':0}");
    answers.put("GET " + OWN + "mine/internalStats?metadata=true", "{'ledgers':[]}");
    answers.put("GET " + OTHERS + "orders/partitions", "{'partitions':2}");
    answers.put(
        "GET " + OTHERS + "orders-partition-0/internalStats?metadata=true",
        "{'ledgers':[{'metadata':'ensembleSize=3, ackQuorumSize=2'}]}");
    String bounds = "{'boundaries':['0x00000000','0xffffffff']}";
    answers.put("GET /admin/v2/namespaces/public/default/bundles", bounds);
    answers.put("GET /admin/v2/namespaces/sales/europe/bundles", bounds);
    answers.put(
        "GET /admin/v2/brokers/any/b:8080/ownedNamespaces",
        "{'sales/europe/0x00000000_0xffffffff':{}}");
    assertThat(
            new Description(new AdminRest(connection), connection)
                .read(List.of("mine", "sales/europe/orders")))
        .contains(setting("topic sales/europe/orders", "partitions", "2"))
        .contains(setting("topic sales/europe/orders", "ledger.ackQuorumSize", "2"))
        .contains(setting("topic sales/europe/orders", "partition.owners", "{\"b:8080\":2}"))
        .contains(setting("topic mine", "partitions.unowned", "1"));
  }

  @Test
  void aPartitionedTopicThatCantBeDeletedIsNoTopicThatIsGone() {
    refusals.put("DELETE " + OWN + "t/partitions?force=true", 500);
    assertThatThrownBy(() -> delete("t"))
        .hasMessage("Pulsar could not delete topic t: no luck with it (HTTP 500)");
  }

  @Test
  void whatIsNotPartitionedOrNotThereIsDeletedAllTheSame() throws Exception {
    // So newer brokers answer about a topic that is not partitioned.
    refusals.put("DELETE " + OWN + "plain/partitions?force=true", 409);
    answers.put("DELETE " + OWN + "plain?force=true", "");
    delete("plain", "gone");
  }

  private void delete(String... topics) throws Exception {
    new Topics(new AdminRest(connection), connection, Progress.NONE).delete(List.of(topics));
  }

  private static EffectiveSetting setting(String scope, String name, String value) {
    return new EffectiveSetting(scope, name, value, null);
  }
}
