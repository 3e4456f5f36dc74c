package io.tidegauge.worker.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.rabbitmq.client.Address;
import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.Place;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.drivers.PartitionChooser;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What becomes of connection settings, topic settings and the neutral client options. */
class MappingTest {
  @Test
  void aConnectionNamesItsNodesAndHidesItsPassword() throws DriverException {
    Connection connection =
        Connection.of(
            Map.of(
                "uri",
                "amqp://user:secret@a:1/vh, amqp://user:secret@b",
                "streamUri",
                "rabbitmq-stream://a:9"));
    assertThat(connection.addressesFrom(0))
        .containsExactly(new Address("a", 1), new Address("b", 5672));
    assertThat(connection.addressesFrom(3))
        .containsExactly(new Address("b", 5672), new Address("a", 1));
    assertThat(connection.user() + " " + connection.password() + " " + connection.virtualHost())
        .isEqualTo("user secret vh");
    assertThat(connection.factory().getVirtualHost()).isEqualTo("vh");
    assertThat(connection.toString()).doesNotContain("secret");
    assertThat(connection.shown()).isEqualTo("a:1, b:5672");
    assertThat(Connection.of(Map.of("uri", "amqp://a")).virtualHost()).isEqualTo("/");
  }

  @Test
  void unusableConnectionSettingsAreNamed() {
    assertThatThrownBy(() -> Connection.of(Map.of()))
        .hasMessageContaining("needs the connection setting uri");
    assertThatThrownBy(() -> Connection.of(Map.of("url", "amqp://a")))
        .hasMessage("RabbitMQ has no connection setting \"url\"; did you mean \"uri\"?");
    assertThatThrownBy(() -> Connection.of(Map.of("uri", "http://u:secret@a")))
        .hasMessage("RabbitMQ's uri is not usable: it must begin with amqp:// or amqps://")
        .hasMessageNotContaining("secret");
    assertThatThrownBy(() -> Connection.of(Map.of("uri", "amqp://a", "nodes", "none")))
        .hasMessage("RabbitMQ's nodes must be a whole number of at least 1, not \"none\"");
  }

  @ParameterizedTest
  @CsvSource({
    "classic, classic, '', 1",
    "mirrored, classic, '', 3",
    "quorum, quorum, x-quorum-initial-group-size, 3",
    "stream, stream, x-initial-cluster-size, 3",
  })
  void aTopicsTypeDecidesItsQueuesArguments(
      String type, String argument, String sizeName, int members) throws DriverException {
    TopicSettings settings = topic(Map.of("queue.type", type, "x-max-length", "5"));
    assertThat(settings.members()).isEqualTo(members);
    assertThat(settings.queueArguments())
        .containsEntry("x-queue-type", argument)
        .containsEntry("x-max-length", 5L);
    assertThat(settings.queueArguments()).hasSize(sizeName.isEmpty() ? 2 : 3);
    if (!sizeName.isEmpty()) {
      assertThat(settings.queueArguments()).containsEntry(sizeName, members);
    }
  }

  @ParameterizedTest
  @CsvSource({"quorum, 0", "stream, 0", "classic, 1", "mirrored, 1"})
  void copiesMayBeLeftToTheServers(String type, int members) throws DriverException {
    TopicSpec spec = new TopicSpec("orders", 1, 0, Map.of("queue.type", type));
    TopicSettings settings = TopicSettings.of(spec, QueueType.CLASSIC);
    assertThat(settings.members()).isEqualTo(members);
    assertThat(settings.queueArguments()).containsOnlyKeys("x-queue-type");
  }

  @Test
  void topicSettingsAreChecked() throws DriverException {
    assertThat(topic(Map.of()).type()).isEqualTo(QueueType.CLASSIC);
    assertThat(topic(Map.of("queue.type", "quorum", "queue.members", "1")).members()).isEqualTo(1);
    assertThat(topic(Map.of("message.persistent", "false")).persistent()).isFalse();
    assertThatThrownBy(() -> topic(Map.of("queue.tpye", "quorum")))
        .hasMessage("RabbitMQ has no topic setting \"queue.tpye\"; did you mean \"queue.type\"?");
    assertThatThrownBy(() -> topic(Map.of("queue.type", "stream", "message.persistent", "false")))
        .hasMessageContaining("no transient messages");
    assertThatThrownBy(() -> topic(Map.of("message.persistent", "no")))
        .hasMessageContaining("true or false");
  }

  @Test
  void whatAmqpLacksIsReportedAndCompressionRefused() throws DriverException {
    assertThatThrownBy(() -> ProducerOptions.of(options("lz4", "all", Map.of(), Map.of())))
        .hasMessageContaining("can't compress (lz4)");
    assertThatThrownBy(() -> ProducerOptions.of(options("none", "none", Map.of(), Map.of())))
        .hasMessageContaining("acks must be");
    assertThatThrownBy(
            () -> ProducerOptions.of(options("none", "all", Map.of("batchSize", "1"), Map.of())))
        .hasMessageContaining("no producer setting \"batchSize\"");
    assertThat(
            ProducerOptions.of(options("none", "one", Map.of("mandatory", "true"), Map.of()))
                .disclosed(true, 1))
        .contains(new EffectiveSetting("producer", "mandatory", "true", false, "false"))
        .contains(
            new EffectiveSetting(
                "producer", "delivery_mode", "2 (persistent)", false, "1 (transient)"))
        .anyMatch(one -> one.name().equals("batching") && one.value().startsWith("none"));
  }

  @ParameterizedTest
  @CsvSource({
    "5000, 1, 5000, 250",
    "5000, 5, 1000, 250",
    "5000, 1000, 100, 25",
    "10, 4, 10, 2",
    "1, 3, 1, 1"
  })
  void thePrefetchIsSharedByTheQueuesAndAcknowledgedInTime(
      int messages, int queues, int prefetch, int every) throws DriverException {
    ConsumerOptions options = new ConsumerOptions(messages, 0, 50, false);
    assertThat(options.prefetchOf(queues)).isEqualTo(prefetch);
    assertThat(options.ackEveryOf(prefetch)).isEqualTo(every);
  }

  @Test
  void acknowledgementsAreNeverHeldBackUntilTheBrokerStopsDelivering() throws DriverException {
    ConsumerOptions options =
        ConsumerOptions.of(
            options("none", "all", Map.of(), Map.of("prefetch", "10", "ackEvery", "1000")));
    assertThat(options.ackEveryOf(options.prefetchOf(1))).isEqualTo(5);
    assertThat(options.prefetchOf(0)).isEqualTo(10);
    assertThat(new ConsumerOptions(1_000_000, 0, 50, false).prefetchOf(1)).isEqualTo(65_535);
  }

  @Test
  void whatProducersAndConsumersShareIsDisclosed() throws DriverException {
    ClientOptions usual = options("none", "all", Map.of(), Map.of());
    assertThat(ProducerOptions.of(usual).disclosed(true, 10))
        .contains(
            setting(
                "producer",
                "connections",
                "1 channel for each producer, 1 connection for up to 10 of them"));
    assertThat(ConsumerOptions.of(usual).disclosed(1, 10))
        .contains(
            setting(
                "consumer",
                "connections",
                "1 channel for each consumer, 1 connection and 1 thread for up to 10 of them"));
  }

  @Test
  void whoeverAcknowledgesIsDisclosed() throws DriverException {
    List<EffectiveSetting> byHand =
        ConsumerOptions.of(options("none", "all", Map.of(), Map.of())).disclosed(1, 1);
    assertThat(byHand)
        .contains(
            new EffectiveSetting(
                "consumer", "acknowledgement", "manual, multiple=true", true, null))
        .contains(
            new EffectiveSetting("consumer", "prefetch", "5000 for each queue", false, "no limit"));
    List<EffectiveSetting> automatic =
        ConsumerOptions.of(options("none", "all", Map.of(), Map.of("autoAck", "true")))
            .disclosed(1, 1);
    assertThat(automatic)
        .contains(
            new EffectiveSetting(
                "consumer", "acknowledgement", "automatic", false, "manual, multiple=true"))
        .noneMatch(one -> one.name().equals("prefetch"));
    assertThatThrownBy(
            () -> ConsumerOptions.of(options("none", "all", Map.of(), Map.of("autoAck", "maybe"))))
        .hasMessageContaining("autoAck must be true or false");
  }

  /** Its builder of producers has them in its fields, and shows them to nobody. */
  @Test
  void theStreamClientsDefaultsAreThoseOfTheLibrary() throws ReflectiveOperationException {
    Constructor<?> made =
        Class.forName("com.rabbitmq.stream.impl.StreamProducerBuilder")
            .getDeclaredConstructors()[0];
    made.setAccessible(true);
    Object builder = made.newInstance((Object) null);
    Map<String, Object> expected =
        Map.of(
            "batchSize", StreamOptions.BATCH_MESSAGES_DEFAULT,
            "dynamicBatch", StreamOptions.DYNAMIC_BATCH_DEFAULT,
            "batchPublishingDelay", Duration.ofMillis(StreamOptions.BATCH_DELAY_MS_DEFAULT),
            "maxUnconfirmedMessages", StreamOptions.UNCONFIRMED_MESSAGES_DEFAULT,
            "subEntrySize", StreamOptions.SUB_ENTRY_DEFAULT,
            "confirmTimeout", Duration.ofMillis(StreamOptions.CONFIRM_TIMEOUT_MS_DEFAULT),
            "enqueueTimeout", Duration.ofMillis(StreamOptions.ENQUEUE_TIMEOUT_MS_DEFAULT));
    for (Map.Entry<String, Object> each : expected.entrySet()) {
      Field field = builder.getClass().getDeclaredField(each.getKey());
      field.setAccessible(true);
      assertThat(field.get(builder)).as(each.getKey()).isEqualTo(each.getValue());
    }
  }

  @Test
  void whatDiffersFromTheStreamClientsDefaultIsDisclosed() throws DriverException {
    StreamOptions options = StreamOptions.of(options("none", "all", Map.of(), Map.of()));
    assertThat(options.disclosedProducer())
        .contains(
            new EffectiveSetting("producer", "batchSize", "128 messages", false, "100 messages"))
        .contains(new EffectiveSetting("producer", "dynamicBatch", "true", true, null))
        .contains(new EffectiveSetting("producer", "enqueueTimeoutMs", "0", false, "10000"));
  }

  @Test
  void batchBytesBecomeMessagesForStreams() throws DriverException {
    StreamOptions plain = StreamOptions.of(options("none", "all", Map.of(), Map.of()));
    assertThat(plain.batchSize()).isEqualTo(128);
    assertThat(plain.unconfirmedMessagesMax()).isEqualTo(1001);
    assertThat(plain.subEntrySize()).isEqualTo(1);
    StreamOptions compressed =
        StreamOptions.of(options("zstd", "all", Map.of("dynamicBatch", "false"), Map.of()));
    assertThat(compressed.subEntrySize()).isEqualTo(100);
    assertThat(compressed.disclosedProducer())
        .contains(new EffectiveSetting("producer", "compression", "ZSTD", false, "none"))
        .contains(new EffectiveSetting("producer", "batchPublishingDelayMs", "1", false, "100"));
    assertThatThrownBy(() -> StreamOptions.of(options("brotli", "all", Map.of(), Map.of())))
        .hasMessageContaining("no compression \"brotli\"");
  }

  @Test
  void confirmsOfStreamsAreAwaitedForABoundedTime() throws DriverException {
    StreamOptions usual = StreamOptions.of(options("none", "all", Map.of(), Map.of()));
    assertThat(usual.confirmTimeoutMs()).isEqualTo(30_000);
    for (int[] askedAndGiven : new int[][] {{9_000, 9_000}, {10, 1_000}}) {
      ClientOptions bounded =
          new ClientOptions(
              0, 0, "none", 10, 10, 1, "all", 1024, Map.of(), Map.of(), askedAndGiven[0]);
      assertThat(StreamOptions.of(bounded).confirmTimeoutMs()).isEqualTo(askedAndGiven[1]);
    }
  }

  @Test
  void keysGoToOnePartitionAndMessagesWithoutOneGoRound() {
    PartitionChooser chooser = new PartitionChooser(4, 2);
    assertThat(
            List.of(
                chooser.partitionOf(null), chooser.partitionOf(null), chooser.partitionOf(null)))
        .containsExactly(2, 3, 0);
    TreeSet<Integer> used = new TreeSet<>();
    for (int key = 0; key < 100; key++) {
      byte[] bytes = ("key-" + key).getBytes(StandardCharsets.UTF_8);
      int partition = chooser.partitionOf(bytes);
      assertThat(new PartitionChooser(4, 0).partitionOf(bytes)).isEqualTo(partition);
      used.add(partition);
    }
    assertThat(used).containsExactly(0, 1, 2, 3);
  }

  @Test
  void everyPartitionHasOneReader() {
    TreeSet<Integer> shared = new TreeSet<>();
    for (int member = 0; member < 3; member++) {
      List<Integer> share = PartitionChooser.shareOf(member, 3, 7);
      assertThat(share).hasSizeBetween(2, 3);
      assertThat(shared).doesNotContainAnyElementsOf(share);
      shared.addAll(share);
    }
    assertThat(shared).hasSize(7);
    assertThat(PartitionChooser.shareOf(4, 5, 2)).isEmpty();
  }

  /** The worker has a consumer of the second subscription, and not the first of it. */
  @Test
  void aWorkerReadsItsQueuesWhateverItsOtherConsumersAre() throws DriverException {
    Topic topic = new Topic("t", 7, topic(Map.of()));
    topic.subscribe("sub-0");
    topic.subscribe("sub-1");
    assertThat(topic.hasOwnQueues("sub-0")).isFalse();
    assertThat(topic.hasOwnQueues("sub-1")).isTrue();
    assertThat(topic.queueOf(2, "sub-1")).isEqualTo("t.2@sub-1");
    assertThat(topic.queues()).hasSize(14);
    Assigned consumer = new Assigned();
    topic.join("sub-1", consumer, SubscriptionType.BY_PARTITION, new Place(5, 1, 3));
    assertThat(consumer.partitions).containsExactly(1, 4);
    topic.join("sub-1", consumer, SubscriptionType.SHARED, new Place(5, 1, 3));
    assertThat(consumer.partitions).hasSize(7);
  }

  private static final class Assigned implements PartitionedConsumer {
    List<Integer> partitions;

    @Override
    public void assign(List<Integer> given) {
      partitions = given;
    }

    @Override
    public boolean isClosed() {
      return false;
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    @Override
    public void close() {}
  }

  private static TopicSettings topic(Map<String, String> settings) throws DriverException {
    return TopicSettings.of(new TopicSpec("t", 2, 3, settings), QueueType.CLASSIC);
  }

  private static EffectiveSetting setting(String scope, String name, String value) {
    return new EffectiveSetting(scope, name, value, null);
  }

  private static ClientOptions options(
      String compression, String acks, Map<String, String> producer, Map<String, String> consumer) {
    return new ClientOptions(
        131_072, 1_000, compression, 1000, 5000, 1, acks, 1024, producer, consumer, 0);
  }
}
