package io.tidegauge.worker.kafka;

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

/** Against a real broker: mvn test -pl kafka -am -Dtest='*IT' -Dtidegauge.kafka=127.0.0.1:9092. */
@EnabledIfSystemProperty(named = "tidegauge.kafka", matches = ".+")
class KafkaDriverIT {
  private final String topic = "it-" + UUID.randomUUID();
  private final List<AutoCloseable> open = new ArrayList<>();
  private Driver driver;

  @BeforeEach
  void connect() throws DriverException {
    driver =
        new KafkaDriverFactory()
            .open(Map.of("bootstrap.servers", System.getProperty("tidegauge.kafka")));
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
    ClientOptions options = options(1024, acks, compression, Map.of("group.protocol", protocol));
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
    ClientOptions options = options(100, "all", "none", Map.of());
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
    ClientOptions options = options(bytes, "all", "none", Map.of());
    Exchange.Received received = new Exchange.Received(bytes);
    consume("sub-0", 0, 1, options, false, received);
    Exchange exchange = new Exchange(false);
    exchange.send(produce(0, 1, options), 0, 50, bytes, false);
    received.await(50);
    assertThat(exchange.failure.get()).isNull();
    assertThat(received.unique()).isEqualTo(50);
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
        .contains(new EffectiveSetting("producer", "enable.idempotence", "false", false))
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
      int messageBytes, String acks, String compression, Map<String, String> consumerOverrides) {
    return new ClientOptions(
        131_072,
        1_000,
        compression,
        1000,
        5000,
        1,
        acks,
        messageBytes,
        Map.of(),
        consumerOverrides);
  }
}
