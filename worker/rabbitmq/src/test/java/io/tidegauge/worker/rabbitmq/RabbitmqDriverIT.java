package io.tidegauge.worker.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.api.testing.DriverOnServer;
import io.tidegauge.worker.api.testing.Exchange;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Against a real server: mvn test -pl rabbitmq -am -Dtest='*IT'
 * -Dtidegauge.rabbitmq=5672,5552,15672 (the ports of AMQP, streams and management on 127.0.0.1).
 */
@EnabledIfSystemProperty(named = "tidegauge.rabbitmq", matches = ".+")
class RabbitmqDriverIT extends DriverOnServer {
  private static final String[] PORTS =
      System.getProperty("tidegauge.rabbitmq", "0,0,0").split(",");

  static Map<String, String> connection() {
    return Map.of(
        "uri", "amqp://guest:guest@127.0.0.1:" + PORTS[0],
        "streamUri", "rabbitmq-stream://guest:guest@127.0.0.1:" + PORTS[1],
        "managementUrl", "http://127.0.0.1:" + PORTS[2]);
  }

  @Override
  protected Driver connect() throws DriverException {
    return new RabbitmqDriverFactory().open(connection());
  }

  @ParameterizedTest
  @CsvSource({
    "classic, 1, 1, 1, none",
    "classic, 5, 2, 2, none",
    "quorum, 1, 2, 1, none",
    "quorum, 5, 2, 3, none",
    "stream, 1, 1, 1, none",
    "stream, 5, 2, 2, none",
    "stream, 1, 2, 1, lz4",
  })
  void everyMessageArrivesOnceAndInOrder(
      String type, int partitions, int producers, int consumers, String compression)
      throws Exception {
    connectFor(type);
    createTopic(type, partitions, Map.of());
    checkEveryMessageArrives(
        partitions, producers, consumers, options(1024, compression, Map.of()), id -> id > 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum", "stream"})
  void aPausedConsumerReceivesNothingUntilItIsResumed(String type) throws Exception {
    createTopic(type, 4, Map.of());
    checkPausedConsumerReceivesNothing(options(100, "none", Map.of()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"classic", "quorum", "stream"})
  void aMessageOfOneMebibyteFits(String type) throws Exception {
    createTopic(type, 1, Map.of());
    // A stream's frame has 1 MiB for message and envelope together.
    int bytes = type.equals("stream") ? (1 << 20) - 1024 : 1 << 20;
    checkMessagesArrive(50, options(bytes, "none", Map.of()));
  }

  @Test
  void aSmallPrefetchNeverStalls() throws Exception {
    createTopic("classic", 3, Map.of());
    ClientOptions options = options(100, "none", Map.of("prefetch", "1", "ackEvery", "1000"));
    Exchange.Received received = new Exchange.Received(100);
    consume("sub-0", 0, 3, options, false, received);
    new Exchange(!driver.retainsValue()).send(produce(0, 3, options), 0, 1000, 100, false);
    received.await(1000);
    assertThat(received.unique()).isEqualTo(1000);
  }

  @Test
  void describeTellsWhatIsInForce() throws Exception {
    createTopic("quorum", 2, Map.of("message.persistent", "false", "x-delivery-limit", "7"));
    try (Driver other = new RabbitmqDriverFactory().open(connection())) {
      String scope = "topic " + topic;
      assertThat(other.describe(List.of(topic)))
          .contains(new EffectiveSetting(scope, "queues", "2", null))
          .contains(new EffectiveSetting(scope, "queue.type", "quorum", null))
          .contains(new EffectiveSetting(scope, "queue.durable", "true", null))
          .contains(new EffectiveSetting(scope, "queue.members", "1", null))
          .contains(new EffectiveSetting(scope, "message.delivery_mode", "1", null))
          .anyMatch(
              one ->
                  one.name().equals("queue.arguments")
                      && one.value().contains("x-delivery-limit=7"))
          .anyMatch(one -> one.scope().startsWith("node ") && one.name().equals("mem_alarm"))
          .anyMatch(one -> one.scope().equals("cluster") && one.name().equals("version"));
    }
  }

  @Test
  void errorsAreOneLine() throws Exception {
    assertThatThrownBy(() -> createTopic("quroum", 1, Map.of()))
        .hasMessage(
            "RabbitMQ has no queue.type \"quroum\"; it has classic, quorum, stream and mirrored");
    assertThatThrownBy(
            () -> createTopic("quorum", 1, Map.of("x-quorum-initial-group-size", "none")))
        .isInstanceOf(DriverException.class)
        .hasMessageStartingWith(
            "RabbitMQ could not create the queues of " + topic + ": PRECONDITION_FAILED")
        .hasMessageNotContaining("\n");
    Map<String, String> wrong = new HashMap<>(connection());
    wrong.put("uri", "amqp://guest:wrong@127.0.0.1:" + PORTS[0]);
    try (Driver other = new RabbitmqDriverFactory().open(wrong)) {
      assertThatThrownBy(() -> other.createTopics(List.of(new TopicSpec(topic, 1, 1, Map.of()))))
          .isInstanceOf(DriverException.class)
          .hasMessageContaining("ACCESS_REFUSED")
          .hasMessageNotContaining("wrong");
    }
  }

  /** As a deployment has it: the connection says which type its topics are of. */
  private void connectFor(String type) throws DriverException {
    driver.close();
    Map<String, String> settings = new HashMap<>(connection());
    settings.put("queueType", type);
    driver = new RabbitmqDriverFactory().open(settings);
  }

  @Test
  void aStreamOnAConnectionForOtherTypesKeepsItsMessages() throws Exception {
    createTopic("stream", 2, Map.of());
    assertThat(driver.retainsValue()).isFalse();
    ClientOptions options = options(1024, "none", Map.of());
    Exchange.Received received = new Exchange.Received(1024);
    consume("sub-0", 0, 2, options, false, received);
    new Exchange(true).send(produce(0, 2, options), 0, 50_000, 1024, false);
    received.await(50_000);
    assertThat(received.unique()).isEqualTo(50_000);
    assertThat(received.duplicated).isZero();
  }

  private void createTopic(String type, int partitions, Map<String, String> more)
      throws DriverException {
    Map<String, String> settings = new HashMap<>(more);
    settings.put("queue.type", type);
    driver.createTopics(List.of(new TopicSpec(topic, partitions, 1, settings)));
  }
}
