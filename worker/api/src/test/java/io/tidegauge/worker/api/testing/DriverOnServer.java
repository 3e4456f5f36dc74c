package io.tidegauge.worker.api.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.ProducerSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A driver on a real server and a topic's name; what a test opens is closed after it. */
public abstract class DriverOnServer {
  protected final String topic = "it-" + UUID.randomUUID();
  protected Driver driver;
  private final List<AutoCloseable> open = new ArrayList<>();

  protected abstract Driver connect() throws DriverException;

  @BeforeEach
  void open() throws DriverException {
    driver = connect();
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable client : open) {
      client.close();
    }
    driver.deleteTopics(List.of(topic, "never-was"));
    driver.close();
  }

  protected MessageProducer produce(int id, int partitions, ClientOptions options)
      throws DriverException {
    MessageProducer producer =
        driver.createProducer(new ProducerSpec(topic, 0, partitions, "producer-" + id, options));
    open.add(producer);
    return producer;
  }

  protected MessageConsumer consume(
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

  protected static ClientOptions options(
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
        consumerOverrides,
        0);
  }

  protected static ClientOptions options(
      int messageBytes, String compression, Map<String, String> consumerOverrides) {
    return options(messageBytes, "all", compression, consumerOverrides);
  }

  /**
   * 20,000 messages of each producer reach two subscriptions once and in order, from every
   * partition.
   *
   * @param keyed which producers' messages have keys
   */
  protected void checkEveryMessageArrives(
      int partitions, int producers, int consumers, ClientOptions options, IntPredicate keyed)
      throws Exception {
    int bytes = 1024;
    List<Exchange.Received> received =
        List.of(new Exchange.Received(bytes), new Exchange.Received(bytes));
    for (int subscription = 0; subscription < received.size(); subscription++) {
      for (int id = 0; id < consumers; id++) {
        consume("sub-" + subscription, id, partitions, options, false, received.get(subscription));
      }
    }
    int count = 20_000;
    Exchange exchange = exchange();
    List<CompletableFuture<Void>> sending = new ArrayList<>();
    for (int producer = 0; producer < producers; producer++) {
      int id = producer;
      MessageProducer client = produce(id, partitions, options);
      sending.add(
          CompletableFuture.runAsync(
              () -> {
                try {
                  exchange.send(client, id, count, bytes, keyed.test(id));
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
              }));
    }
    sending.forEach(CompletableFuture::join);
    assertThat(exchange.failure.get()).isNull();
    assertThat(exchange.acked.get()).isEqualTo(count * producers);
    for (Exchange.Received subscription : received) {
      subscription.await(count * producers);
      assertThat(subscription.error).isNull();
      assertThat(subscription.unique()).isEqualTo(count * producers);
      assertThat(subscription.duplicated + subscription.reordered + subscription.wrongLength)
          .isZero();
      assertThat(subscription.partitions.cardinality()).isEqualTo(partitions);
    }
  }

  /** Of a topic with 4 partitions, nothing arrives while the consumer is paused. */
  protected void checkPausedConsumerReceivesNothing(ClientOptions options) throws Exception {
    int bytes = options.messageBytes();
    Exchange.Received received = new Exchange.Received(bytes);
    MessageConsumer consumer = consume("sub-0", 0, 4, options, true, received);
    MessageProducer producer = produce(0, 4, options);
    Exchange exchange = exchange();
    exchange.send(producer, 0, 1000, bytes, true);
    Thread.sleep(300);
    assertThat(received.unique()).isZero();
    consumer.resume();
    received.await(1000);
    assertThat(received.unique()).isEqualTo(1000);
    consumer.pause();
    Thread.sleep(200);
    exchange.send(producer, 1, 1000, bytes, true);
    Thread.sleep(300);
    assertThat(received.unique()).isEqualTo(1000);
    consumer.resume();
    received.await(2000);
    assertThat(received.unique()).isEqualTo(2000);
    assertThat(received.duplicated + received.reordered).isZero();
    assertThat(received.error).isNull();
  }

  /** On a topic of one partition, without keys. */
  protected void checkMessagesArrive(int count, ClientOptions options) throws Exception {
    int bytes = options.messageBytes();
    Exchange.Received received = new Exchange.Received(bytes);
    consume("sub-0", 0, 1, options, false, received);
    Exchange exchange = exchange();
    exchange.send(produce(0, 1, options), 0, count, bytes, false);
    received.await(count);
    assertThat(exchange.failure.get()).isNull();
    assertThat(received.unique()).isEqualTo(count);
  }

  private Exchange exchange() {
    return new Exchange(!driver.retainsValue());
  }
}
