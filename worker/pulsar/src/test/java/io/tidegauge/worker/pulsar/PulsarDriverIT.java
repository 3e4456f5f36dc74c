package io.tidegauge.worker.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.api.testing.Exchange;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Against a real broker: mvn test -pl pulsar -am -Dtest='*IT'
 * -Dtidegauge.pulsar=pulsar://127.0.0.1:6650 -Dtidegauge.pulsar.admin=http://127.0.0.1:8080.
 */
@EnabledIfSystemProperty(named = "tidegauge.pulsar", matches = ".+")
class PulsarDriverIT {
  private final String topic = "it-" + UUID.randomUUID();
  private final List<AutoCloseable> open = new ArrayList<>();
  private Driver driver;

  @BeforeEach
  void connect() throws DriverException {
    driver =
        new PulsarDriverFactory()
            .open(
                Map.of(
                    "serviceUrl",
                    System.getProperty("tidegauge.pulsar"),
                    "adminUrl",
                    System.getProperty("tidegauge.pulsar.admin")));
  }

  @AfterEach
  void leave() throws Exception {
    for (AutoCloseable client : open) {
      client.close();
    }
    driver.deleteTopics(List.of(topic, "never-was"));
    driver.close();
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
    ClientOptions options = options(1024, compression, Map.of("subscriptionType", type));
    List<Exchange.Received> received =
        List.of(new Exchange.Received(1024), new Exchange.Received(1024));
    for (int subscription = 0; subscription < 2; subscription++) {
      for (int consumer = 0; consumer < consumers; consumer++) {
        consume(
            "sub-" + subscription,
            consumer,
            partitions,
            options,
            false,
            received.get(subscription));
      }
    }
    int count = 20_000;
    Exchange exchange = new Exchange(false);
    List<CompletableFuture<Void>> runs = new ArrayList<>();
    for (int producer = 0; producer < producers; producer++) {
      int id = producer;
      MessageProducer client = produce(id, partitions, options);
      runs.add(
          CompletableFuture.runAsync(
              () -> {
                try {
                  exchange.send(client, id, count, 1024, partitions > 1);
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
              }));
    }
    runs.forEach(CompletableFuture::join);
    assertThat(exchange.failure.get()).isNull();
    assertThat(exchange.acked.get()).isEqualTo(count * producers);
    for (Exchange.Received one : received) {
      one.await(count * producers);
      assertThat(one.error).isNull();
      assertThat(one.unique()).isEqualTo(count * producers);
      assertThat(one.duplicated + one.reordered + one.wrongLength).isZero();
      assertThat(one.partitions.cardinality()).isEqualTo(partitions);
    }
  }

  @Test
  void aPausedConsumerReceivesNothingUntilItIsResumed() throws Exception {
    createTopic(4);
    ClientOptions options = options(100, "none", Map.of());
    Exchange.Received received = new Exchange.Received(100);
    MessageConsumer consumer = consume("sub-0", 0, 4, options, true, received);
    MessageProducer producer = produce(0, 4, options);
    Exchange exchange = new Exchange(false);
    exchange.send(producer, 0, 1000, 100, true);
    Thread.sleep(300);
    assertThat(received.unique()).isZero();
    consumer.resume();
    received.await(1000);
    assertThat(received.unique()).isEqualTo(1000);
    consumer.pause();
    Thread.sleep(200);
    exchange.send(producer, 1, 1000, 100, true);
    Thread.sleep(300);
    assertThat(received.unique()).isEqualTo(1000);
    consumer.resume();
    received.await(2000);
    assertThat(received.unique()).isEqualTo(2000);
    assertThat(received.duplicated + received.reordered).isZero();
  }

  @Test
  void aMessageOfOneMebibyteFits() throws Exception {
    createTopic(1);
    int bytes = 1 << 20;
    ClientOptions options = options(bytes, "none", Map.of());
    Exchange.Received received = new Exchange.Received(bytes);
    consume("sub-0", 0, 1, options, false, received);
    Exchange exchange = new Exchange(false);
    exchange.send(produce(0, 1, options), 0, 50, bytes, false);
    received.await(50);
    assertThat(exchange.failure.get()).isNull();
    assertThat(received.unique()).isEqualTo(50);
  }

  @Test
  void messagesAreSentAtOnceWithoutBatching() throws Exception {
    createTopic(1);
    Exchange.Received received = new Exchange.Received(1000);
    ClientOptions options =
        new ClientOptions(0, 0, "none", 100, 100, 1, "all", 1000, Map.of(), Map.of());
    consume("sub-0", 0, 1, options, false, received);
    Exchange exchange = new Exchange(false);
    exchange.send(produce(0, 1, options), 0, 500, 1000, false);
    received.await(500);
    assertThat(received.unique()).isEqualTo(500);
    assertThat(exchange.failure.get()).isNull();
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

  private MessageProducer produce(int id, int partitions, ClientOptions options)
      throws DriverException {
    MessageProducer producer =
        driver.createProducer(new ProducerSpec(topic, 0, partitions, "producer-" + id, options));
    open.add(producer);
    return producer;
  }

  private MessageConsumer consume(
      String subscription,
      int id,
      int partitions,
      ClientOptions options,
      boolean paused,
      Exchange.Received sink)
      throws DriverException {
    MessageConsumer consumer =
        driver.createConsumer(
            new ConsumerSpec(
                topic, 0, partitions, subscription, subscription + "-" + id, paused, options),
            sink);
    open.add(consumer);
    return consumer;
  }

  private static ClientOptions options(
      int messageBytes, String compression, Map<String, String> consumerOverrides) {
    return new ClientOptions(
        131_072,
        1_000,
        compression,
        1000,
        5000,
        1,
        "all",
        messageBytes,
        Map.of(),
        consumerOverrides);
  }
}
