package io.tidegauge.worker.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.api.testing.DriverOnServer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Against a real broker: mvn test -pl pulsar -am -Dtest='*IT'
 * -Dtidegauge.pulsar=pulsar://127.0.0.1:6650 -Dtidegauge.pulsar.admin=http://127.0.0.1:8080.
 */
@EnabledIfSystemProperty(named = "tidegauge.pulsar", matches = ".+")
class PulsarDriverIT extends DriverOnServer {
  @Override
  protected Driver connect() throws DriverException {
    return new PulsarDriverFactory()
        .open(
            Map.of(
                "serviceUrl",
                System.getProperty("tidegauge.pulsar"),
                "adminUrl",
                System.getProperty("tidegauge.pulsar.admin")));
  }

  @ParameterizedTest
  @CsvSource({
    "1, 1, 1, none, Failover",
    "1, 2, 1, lz4, Exclusive",
    "1, 2, 2, none, Failover",
    "100, 2, 3, zstd, Failover",
    "2, 1, 3, gzip, Failover",
  })
  void everyMessageArrivesOnceAndInOrder(
      int partitions, int producers, int consumers, String compression, String type)
      throws Exception {
    createTopic(partitions);
    checkEveryMessageArrives(
        partitions,
        producers,
        consumers,
        options(1024, compression, Map.of("subscriptionType", type)),
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
  void messagesAreSentAtOnceWithoutBatching() throws Exception {
    createTopic(1);
    checkMessagesArrive(
        500, new ClientOptions(0, 0, "none", 100, 100, 1, "all", 1000, Map.of(), Map.of(), 0));
  }

  @Test
  void aTopicOfManyPartitionsIsCreated() throws Exception {
    createTopic(1500);
    assertThat(driver.describe(List.of(topic)))
        .contains(new EffectiveSetting("topic " + topic, "partitions", "1500", null));
  }

  @Test
  void describeTellsWhatIsInForce() throws Exception {
    createTopic(3);
    String scope = "topic " + topic;
    assertThat(driver.describe(List.of(topic)))
        .contains(new EffectiveSetting(scope, "partitions", "3", null))
        .contains(new EffectiveSetting(scope, "ledger.ackQuorumSize", "1", null))
        .anyMatch(
            one ->
                one.scope().startsWith("broker ")
                    && one.name().equals("managedLedgerDefaultAckQuorum"))
        .anyMatch(one -> one.scope().startsWith("broker ") && one.name().equals("version"))
        .anyMatch(one -> one.scope().equals("namespace public/default"));
  }

  @Test
  void aTopicThatExistsIsAnErrorInOneLine() throws Exception {
    createTopic(1);
    assertThatThrownBy(() -> createTopic(1))
        .isInstanceOf(DriverException.class)
        .hasMessageContaining("Pulsar could not create topic " + topic + ": ")
        .hasMessageContaining("exist");
  }

  private void createTopic(int partitions) throws DriverException {
    driver.createTopics(List.of(new TopicSpec(topic, partitions, 1, Map.of())));
  }
}
