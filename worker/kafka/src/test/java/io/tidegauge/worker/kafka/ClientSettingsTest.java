package io.tidegauge.worker.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.ProducerSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClientSettingsTest {
  private static final Map<String, String> SERVERS = Map.of("bootstrap.servers", "127.0.0.1:9092");

  @ParameterizedTest
  @CsvSource({
    "0, none, '', 1",
    "131072, none, '', 131",
    "131072, lz4, '', 5000",
    "131072, none, compression.type=zstd, 5000",
    "131072, zstd, compression.type=none, 131",
    "131072, none, batch.size=2000, 2"
  })
  void aBatchHoldsAsManyMessagesAsFitOrWhereItIsCompressedAsAreInFlight(
      int batchBytes, String compression, String override, long messages) {
    String[] parts = override.split("=");
    Map<String, String> overrides = parts.length < 2 ? Map.of() : Map.of(parts[0], parts[1]);
    ClientOptions options =
        new ClientOptions(
            batchBytes, 1_000, compression, 5000, 5000, 1, "all", 1000, overrides, Map.of(), 0);
    assertThat(ClientSettings.batchMessagesMax(options)).isEqualTo(messages);
  }

  @Test
  void neutralOptionsBecomeProducerSettings() throws DriverException {
    assertThat(producer(1, options(131_072, 1_000, "zstd", "all", 1024, Map.of(), Map.of())))
        .containsEntry("batch.size", 131_072)
        .containsEntry("linger.ms", 1L)
        .containsEntry("compression.type", "zstd")
        .containsEntry("acks", "all")
        .containsEntry("max.in.flight.requests.per.connection", 5)
        .containsEntry("bootstrap.servers", "127.0.0.1:9092")
        .containsEntry("client.id", "producer-0");
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "1, 1", "1000, 1", "1001, 2", "5000, 5"})
  void aDelayIsRoundedUpToWholeMilliseconds(long delayUs, long lingerMs) throws DriverException {
    assertThat(producer(1, options(131_072, delayUs, "none", "all", 1024, Map.of(), Map.of())))
        .containsEntry("linger.ms", lingerMs);
  }

  @ParameterizedTest
  @CsvSource({"0", "1"})
  void noBatchingMeansNoLingerEither(int batchBytes) throws DriverException {
    Map<String, Object> settings =
        producer(1, options(batchBytes, 5_000, "none", "all", 1024, Map.of(), Map.of()));
    assertThat(settings).containsEntry("batch.size", 0);
    assertThat(settings.get("linger.ms").toString()).isEqualTo("0");
  }

  @ParameterizedTest
  @CsvSource({"all, true,, -1,", "one, false, true, 1, all"})
  void idempotenceFollowsTheAcknowledgement(
      String acks, String idempotent, String differsFrom, String value, String otherThan)
      throws DriverException {
    Map<String, Object> settings =
        producer(1, options(131_072, 1_000, "none", acks, 1024, Map.of(), Map.of()));
    List<EffectiveSetting> effective = new ArrayList<>();
    EffectiveSettings.of(
        "producer", new ProducerConfig(settings), ProducerConfig.configDef(), effective);
    assertThat(effective)
        .contains(
            new EffectiveSetting(
                "producer",
                "enable.idempotence",
                idempotent,
                Boolean.valueOf(idempotent),
                differsFrom))
        // A client says -1 for "all", which is the same and its default.
        .contains(new EffectiveSetting("producer", "acks", value, acks.equals("all"), otherThan))
        // The library's own definitions, not a table of ours.
        .contains(new EffectiveSetting("producer", "linger.ms", "1", false, "5"))
        .contains(new EffectiveSetting("producer", "batch.size", "131072", false, "16384"))
        .noneMatch(one -> one.name().equals("client.id"));
  }

  @Test
  void theBufferHoldsEveryMessageThatMayBeInFlight() throws DriverException {
    for (int partitions : new int[] {1, 100, 10_000}) {
      Map<String, Object> settings =
          producer(partitions, options(131_072, 1_000, "none", "all", 1 << 20, Map.of(), Map.of()));
      long messages = 5000L << 20;
      assertThat((Long) settings.get("buffer.memory")).isGreaterThan(messages);
      assertThat((Integer) settings.get("max.request.size")).isGreaterThan(1 << 20);
    }
  }

  @Test
  void outcomesAreBoundedWhereThatIsAskedFor() throws DriverException {
    ClientOptions bounded =
        new ClientOptions(
            131_072, 5_000, "none", 5000, 5000, 1, "all", 1024, Map.of(), Map.of(), 9_000);
    assertThat(producer(1, bounded))
        .containsEntry("delivery.timeout.ms", 9_000)
        .containsEntry("request.timeout.ms", 3_000)
        .containsEntry("max.block.ms", 9_000L);
    // Shorter than linger and one request the client would refuse.
    ClientOptions tooShort =
        new ClientOptions(
            131_072, 50_000, "none", 5000, 5000, 1, "all", 1024, Map.of(), Map.of(), 30);
    assertThat(producer(1, tooShort)).containsEntry("delivery.timeout.ms", 60);
    assertThat(producer(1, options(131_072, 1_000, "none", "all", 1024, Map.of(), Map.of())))
        .doesNotContainKeys("delivery.timeout.ms", "request.timeout.ms", "max.block.ms");
  }

  @Test
  void overridesWin() throws DriverException {
    ClientOptions options =
        options(
            131_072,
            1_000,
            "none",
            "all",
            1024,
            Map.of("linger.ms", "7"),
            Map.of("group.protocol", "consumer"));
    assertThat(producer(1, options)).containsEntry("linger.ms", "7");
    assertThat(consumer(1, options)).containsEntry("group.protocol", "consumer");
    // Refused by the client with this protocol.
    assertThat(consumer(1, options)).doesNotContainKey("heartbeat.interval.ms");
  }

  @Test
  void unknownKeysNameTheNearestOne() {
    assertThatThrownBy(
            () ->
                producer(1, options(0, 0, "none", "all", 1024, Map.of("linger_ms", "7"), Map.of())))
        .isInstanceOf(DriverException.class)
        .hasMessage("Kafka has no producer setting \"linger_ms\"; did you mean \"linger.ms\"?");
    assertThatThrownBy(
            () ->
                consumer(
                    1,
                    options(0, 0, "none", "all", 1024, Map.of(), Map.of("max.poll.record", "7"))))
        .hasMessage(
            "Kafka has no consumer setting \"max.poll.record\"; did you mean"
                + " \"max.poll.records\"?");
    assertThatThrownBy(() -> Connection.of(Map.of("bootstrap.server", "x:1")))
        .hasMessage(
            "Kafka has no connection setting \"bootstrap.server\"; did you mean"
                + " \"bootstrap.servers\"?");
  }

  @Test
  void whatTheDriverNeedsCannotBeOverridden() {
    assertThatThrownBy(
            () ->
                producer(
                    1,
                    options(0, 0, "none", "all", 1024, Map.of("value.serializer", "X"), Map.of())))
        .isInstanceOf(DriverException.class)
        .hasMessageContaining("value.serializer");
  }

  @Test
  void acksMustBeAllOrOne() {
    assertThatThrownBy(() -> producer(1, options(0, 0, "none", "1", 1024, Map.of(), Map.of())))
        .hasMessage("acks must be \"all\" or \"one\", not \"1\"");
  }

  @Test
  void aClientOfSeveralProducersHasBuffersForAllOfThem() throws DriverException {
    ClientOptions options = options(131_072, 1_000, "none", "all", 1024, Map.of(), Map.of());
    long ofOne = (Long) producer(1, options).get("buffer.memory");
    ProducerSpec spec = new ProducerSpec("topic", 0, 1, "producer-0", options);
    assertThat(ClientSettings.producer(Connection.of(SERVERS), spec, 3))
        .containsEntry("buffer.memory", 3 * ofOne);
  }

  @Test
  void aConsumerHoldsTheMessagesOfItsQueue() throws DriverException {
    ClientOptions options = options(131_072, 1_000, "none", "all", 1024, Map.of(), Map.of());
    assertThat(consumer(1, options))
        .containsEntry("fetch.max.bytes", 5000 * (1024 + 128))
        .containsEntry("auto.offset.reset", "earliest")
        .containsEntry("group.id", "topic-sub-0")
        .containsEntry("group.protocol", "classic");
    assertThat(consumer(10_000, options)).containsEntry("fetch.max.bytes", 50 << 20);
  }

  @Test
  void settingsOfTheConnectionReachEveryClient() throws DriverException {
    Connection connection =
        Connection.of(
            Map.of(
                "bootstrap.servers",
                "h:1",
                "security.protocol",
                "SSL",
                "default.api.timeout.ms",
                "2000"));
    assertThat(connection.timeoutMs()).isEqualTo(2000);
    assertThat(connection.adminSettings())
        .containsEntry("security.protocol", "SSL")
        .containsEntry("request.timeout.ms", 2000);
    assertThat(connection.settingsFor(ConsumerConfig.configNames()))
        .containsEntry("security.protocol", "SSL")
        .doesNotContainKey("default.api.timeout.ms");
  }

  @ParameterizedTest
  @CsvSource({
    "10, '', 10, record_limit",
    "499, '', 499, record_limit",
    "500, '',,",
    "10, max.poll.records=50, 50,",
    "10, share.acquire.mode=batch_optimized, 10, batch_optimized"
  })
  void aConsumerOfAShareGroupTakesNoMoreAheadThanItsQueueHolds(
      int queue, String override, String records, String mode) throws DriverException {
    String[] parts = override.split("=");
    Map<String, String> overrides = parts.length < 2 ? Map.of() : Map.of(parts[0], parts[1]);
    ClientOptions options =
        new ClientOptions(
            131_072, 1_000, "none", 5000, queue, 1, "all", 1024, Map.of(), overrides, 0);
    Map<String, Object> settings =
        ClientSettings.shareConsumer(
            Connection.of(SERVERS),
            new ConsumerSpec("topic", 0, 1, "sub-0", "consumer-0", false, options));
    assertThat(String.valueOf(settings.get("max.poll.records"))).isEqualTo(String.valueOf(records));
    assertThat(settings.get("share.acquire.mode")).isEqualTo(mode);
    assertThat(consumer(1, options).get("max.poll.records"))
        .isEqualTo(overrides.get("max.poll.records"));
  }

  private static Map<String, Object> producer(int partitions, ClientOptions options)
      throws DriverException {
    return ClientSettings.producer(
        Connection.of(SERVERS), new ProducerSpec("topic", 0, partitions, "producer-0", options), 1);
  }

  private static Map<String, Object> consumer(int partitions, ClientOptions options)
      throws DriverException {
    return ClientSettings.consumer(
        Connection.of(SERVERS),
        new ConsumerSpec("topic", 0, partitions, "sub-0", "consumer-0", false, options));
  }

  private static ClientOptions options(
      int batchBytes,
      long delayUs,
      String compression,
      String acks,
      int messageBytes,
      Map<String, String> producerOverrides,
      Map<String, String> consumerOverrides) {
    return new ClientOptions(
        batchBytes,
        delayUs,
        compression,
        5000,
        5000,
        1,
        acks,
        messageBytes,
        producerOverrides,
        consumerOverrides,
        0);
  }
}
