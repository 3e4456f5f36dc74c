package io.tidegauge.worker.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.tidegauge.worker.api.EffectiveSetting;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is made of the management API's answers, which are as real servers gave them. */
class DescriptionTest {
  private static final String QUORUM =
      "{'name':'t.0','type':'quorum','durable':true,'arguments':{'x-queue-type':'quorum'},'policy':null,"
          + "'effective_policy_definition':{},'members':['a','b','c'],'online':['a','b'],'leader':'a','node':'a'}";
  private static final String CLASSIC =
      "{'name':'t.1','durable':true,'arguments':{},'policy':'p','effective_policy_definition':{'ha-mode':'all'},"
          + "'slave_nodes':['b','c'],'synchronised_slave_nodes':['b'],'node':'b','backing_queue_status':{'version':1}}";

  private final Map<String, String> answers = new LinkedHashMap<>();
  private HttpServer server;

  @BeforeEach
  void serve() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          String answer = answers.get(exchange.getRequestURI().getRawPath());
          byte[] bytes =
              (answer == null ? "{}" : answer).replace('\'', '"').getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(
              answer == null ? 404 : answer.contains("'error'") ? 401 : 200, bytes.length);
          exchange.getResponseBody().write(bytes);
          exchange.close();
        });
    server.start();
    answers.put(
        "/api/overview", "{'rabbitmq_version':'3.10.8','erlang_version':'25','cluster_name':'c'}");
    answers.put(
        "/api/nodes",
        "[{'name':'a','running':true,'mem_alarm':true,'mem_limit':1073741824,'partitions':[]}]");
    answers.put(
        "/api/policies/%2F", "[{'name':'p','pattern':'^t','definition':{'ha-mode':'all'}}]");
    answers.put("/api/exchanges/%2F/t", "{'arguments':{'x-tidegauge-delivery-mode':2}}");
    answers.put("/api/queues/%2F/t.0", QUORUM);
    answers.put("/api/queues/%2F/t.1", CLASSIC);
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  @Test
  void onlyMirrorsInStepCountAsOnline() {
    Map<String, Object> mirrored =
        Map.of("slave_nodes", List.of("b", "c"), "synchronised_slave_nodes", List.of("b"));
    assertThat(QueueFacts.of(mirrored))
        .containsEntry("queue.members", "3")
        .containsEntry("queue.members.online", "2");
    Map<String, Object> quorum =
        Map.of("type", "quorum", "members", List.of("a", "b", "c"), "online", List.of("a", "c"));
    assertThat(QueueFacts.of(quorum))
        .containsEntry("queue.members", "3")
        .containsEntry("queue.members.online", "2");
  }

  /** The management plugin mixes statistics of a deleted queue of the same name into its answer. */
  @Test
  void aClassicQueueHasNoMembersOfTheQuorumQueueThatWasThereBefore() {
    Map<String, Object> swapped =
        Map.of("type", "classic", "members", List.of("a", "b", "c"), "online", List.of("a", "b"));
    assertThat(QueueFacts.of(swapped))
        .containsEntry("queue.members", "1")
        .containsEntry("queue.members.online", "1");
  }

  @Test
  void membersThatAServerDoesNotSayAreUnknown() {
    assertThat(QueueFacts.of(Map.of("type", "stream")))
        .containsEntry("queue.members", "")
        .containsEntry("queue.members.online", "");
    assertThat(QueueFacts.of(Map.of("type", "classic"))).containsEntry("queue.members", "1");
  }

  @Test
  void theQueuesOfATopicAreSummedUpAndTheOddOneIsNamed() throws Exception {
    answers.put("/api/exchanges/%2F/t/bindings/source", bindings("t.0", "t.0", "t.1", "t.2"));
    answers.put("/api/queues/%2F/t.2", QUORUM);
    List<EffectiveSetting> found = read();
    assertThat(found)
        .contains(setting("cluster", "version", "3.10.8"))
        .contains(setting("node a", "mem_alarm", "true"))
        .contains(setting("node a", "mem_limit", "1073741824"))
        .contains(setting("node a", "partitions", ""))
        .contains(setting("policy p", "definition", "ha-mode=all"))
        .contains(setting("topic t", "queues", "3"))
        .contains(setting("topic t", "queue.type", "quorum"))
        .contains(setting("topic t", "queue.leaders", "a=2, b=1"))
        .contains(setting("topic t", "queue.members", "3"))
        .contains(setting("topic t", "queue.members.online", "2"))
        .contains(setting("topic t", "message.delivery_mode", "2"))
        .contains(setting("topic t queue t.1", "queue.type", "classic"))
        .contains(setting("topic t queue t.1", "queue.policy.definition", "ha-mode=all"))
        .contains(setting("topic t queue t.1", "queue.storage_version", "1"))
        .noneMatch(one -> one.scope().endsWith("t.0"))
        .noneMatch(one -> one.scope().endsWith("t.1") && one.name().equals("queue.members"));
  }

  @Test
  void classicQueuesAreReadOnceTheirStatisticsAreThere() {
    assertThat(QueueFacts.isComplete(Map.of("type", "classic"))).isFalse();
    assertThat(QueueFacts.isComplete(Map.of("members", List.of()))).isFalse();
    assertThat(QueueFacts.isComplete(Map.of("members", List.of("a"), "online", List.of("a"))))
        .isTrue();
    assertThat(QueueFacts.isComplete(Map.of("effective_policy_definition", Map.of()))).isTrue();
    assertThat(QueueFacts.isComplete(Map.of())).isTrue();
  }

  @Test
  void aQueueThatIsGoneIsAbsent() throws Exception {
    answers.put("/api/exchanges/%2F/t/bindings/source", bindings("t.0"));
    answers.remove("/api/queues/%2F/t.0");
    answers.remove("/api/exchanges/%2F/t");
    assertThat(read())
        .contains(setting("topic t", "queue.type", "absent"))
        .contains(setting("topic t", "message.delivery_mode", "unknown"));
  }

  @Test
  void aTopicThatIsGoneHasNoQueues() throws Exception {
    assertThat(read()).contains(setting("topic t", "queues", "0"));
  }

  @Test
  void aQueueOfOthersIsATopicByItself() throws Exception {
    answers.put("/api/queues/%2F/t", QUORUM);
    assertThat(read())
        .contains(setting("topic t", "queues", "1"))
        .contains(setting("topic t", "queue.type", "quorum"))
        .contains(setting("topic t", "queue.leaders.by.queue", "t=a"));
  }

  @Test
  void aWrongPasswordIsNamed() {
    answers.put("/api/overview", "{'error':'not_authorized','reason':'Login failed'}");
    assertThatThrownBy(this::read)
        .hasMessage(
            "RabbitMQ's management API refused the login: wrong password or unknown user (Login"
                + " failed)");
  }

  @Test
  void aServerThatIsNotThereIsNamedInOneLine() throws Exception {
    server.stop(0);
    assertThatThrownBy(this::read)
        .hasMessageStartingWith(
            "RabbitMQ could not answer GET /api/overview on its management API: ")
        .hasMessageNotContaining("\n");
  }

  private List<EffectiveSetting> read() throws Exception {
    String url = "http://127.0.0.1:" + server.getAddress().getPort();
    Connection connection =
        Connection.of(Map.of("uri", "amqp://127.0.0.1:1", "managementUrl", url));
    return new Description(new AdminLink(connection), new Management(connection))
        .read(List.of("t"));
  }

  /** A queue that is bound twice counts once. */
  private static String bindings(String... queues) {
    StringBuilder all = new StringBuilder("[");
    for (String queue : queues) {
      all.append(all.length() > 1 ? "," : "")
          .append("{'destination':'" + queue + "','destination_type':'queue'}");
    }
    return all + "]";
  }

  private static EffectiveSetting setting(String scope, String name, String value) {
    return new EffectiveSetting(scope, name, value, null);
  }
}
