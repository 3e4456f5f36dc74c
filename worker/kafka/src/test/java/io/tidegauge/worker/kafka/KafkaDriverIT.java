package io.tidegauge.worker.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.api.testing.DriverOnServer;
import io.tidegauge.worker.api.testing.Exchange;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Against a real broker: mvn test -pl kafka -am -Dtest='*IT' -Dtidegauge.kafka=127.0.0.1:9092. */
@EnabledIfSystemProperty(named = "tidegauge.kafka", matches = ".+")
class KafkaDriverIT extends DriverOnServer {
  @Override
  protected Driver connect() throws DriverException {
    return new KafkaDriverFactory()
        .open(Map.of("bootstrap.servers", System.getProperty("tidegauge.kafka")));
  }

  @ParameterizedTest
  @CsvSource({
    "1, 1, 1, all, none, classic",
    "1, 2, 2, all, lz4, classic",
    "100, 2, 3, one, none, classic",
    "100, 2, 3, all, zstd, consumer",
    "2, 1, 3, all, gzip, consumer",
  })
  void everyMessageArrivesOnceAndInOrder(
      int partitions,
      int producers,
      int consumers,
      String acks,
      String compression,
      String protocol)
      throws Exception {
    createTopic(partitions);
    checkEveryMessageArrives(
        partitions,
        producers,
        consumers,
        options(1024, acks, compression, Map.of("group.protocol", protocol)),
        id -> partitions > 1);
  }

  @Test
  void aPausedConsumerReceivesNothingUntilItIsResumed() throws Exception {
    createTopic(4);
    checkPausedConsumerReceivesNothing(options(100, "none", Map.of()));
  }

  @Test
  void aMessageOfOneMebibyteFits() throws Exception {
    createTopic(1);
    checkMessagesArrive(50, options(1 << 20, "none", Map.of()));
  }

  @Test
  void aTopicOfManyPartitionsIsCreated() throws Exception {
    createTopic(3000);
    assertThat(driver.describe(List.of(topic)))
        .contains(new EffectiveSetting("topic " + topic, "partitions", "3000", null));
  }

  @Test
  void describeTellsWhatIsInForce() throws Exception {
    driver.createTopics(List.of(new TopicSpec(topic, 3, 1, Map.of("flush.messages", "1"))));
    List<EffectiveSetting> settings = driver.describe(List.of(topic));
    String scope = "topic " + topic;
    assertThat(settings)
        .contains(new EffectiveSetting(scope, "flush.messages", "1", false))
        .contains(new EffectiveSetting(scope, "retention.bytes", "-1", true))
        .contains(new EffectiveSetting(scope, "replication.factor", "1", null))
        .anyMatch(one -> one.scope().startsWith("broker ") && one.name().equals("num.io.threads"))
        .anyMatch(
            one -> one.scope().equals("cluster") && one.name().equals("feature.metadata.version"));
  }

  @Test
  void clientSettingsAreThoseOfTheClient() throws Exception {
    createTopic(1);
    ClientOptions options = options(100, "one", "none", Map.of());
    produce(0, 1, options);
    consume("sub-0", 0, 1, options, false, new Exchange.Received(100));
    assertThat(driver.clientSettings())
        .contains(new EffectiveSetting("producer", "enable.idempotence", "false", false, "true"))
        .contains(new EffectiveSetting("producer", "delivery.timeout.ms", "120000", true))
        .contains(new EffectiveSetting("consumer", "group.protocol", "classic", true));
  }

  @Test
  void aTopicThatExistsIsAnErrorInOneLine() throws Exception {
    createTopic(1);
    assertThatThrownBy(() -> createTopic(1))
        .isInstanceOf(DriverException.class)
        .hasMessage(
            "Kafka could not create topic " + topic + ": Topic '" + topic + "' already exists.");
  }

  private void createTopic(int partitions) throws DriverException {
    driver.createTopics(List.of(new TopicSpec(topic, partitions, 1, Map.of())));
  }
}
