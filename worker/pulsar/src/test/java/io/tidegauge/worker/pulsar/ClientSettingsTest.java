package io.tidegauge.worker.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.SettingsException.Role;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.impl.conf.ClientConfigurationData;
import org.apache.pulsar.client.impl.conf.ConsumerConfigurationData;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClientSettingsTest {
  private static final Map<String, String> URLS =
      Map.of("serviceUrl", "pulsar://127.0.0.1:6650", "adminUrl", "http://127.0.0.1:8080/");

  @Test
  void neutralOptionsReachTheClientsConfiguration() throws DriverException {
    ProducerConfigurationData producer =
        producer(options(131_072, 1_000, "gzip", Map.of(), Map.of()));
    assertThat(producer.isBatchingEnabled()).isTrue();
    assertThat(producer.getBatchingMaxBytes()).isEqualTo(131_072);
    assertThat(producer.getBatchingMaxPublishDelayMicros()).isEqualTo(1_000);
    assertThat(producer.getCompressionType()).isEqualTo(CompressionType.ZLIB);
    assertThat(producer.getBatchingPartitionSwitchFrequencyByPublishDelay())
        .isGreaterThanOrEqualTo(2);
    assertThat(producer.getMaxPendingMessages()).isZero();
    assertThat(producer.isBlockIfQueueFull()).isTrue();
    ConsumerConfigurationData<?> consumer = consumer(1, options(0, 0, "none", Map.of(), Map.of()));
    assertThat(consumer.getSubscriptionType()).isEqualTo(SubscriptionType.Failover);
    assertThat(consumer.getSubscriptionInitialPosition())
        .isEqualTo(SubscriptionInitialPosition.Earliest);
    assertThat(consumer.getReceiverQueueSize()).isEqualTo(5000);
  }

  @Test
  void onlyTheBytesLimitABatch() throws DriverException {
    ClientOptions small =
        new ClientOptions(131_072, 1_000, "none", 5000, 5000, 1, "all", 48, Map.of(), Map.of(), 0);
    ProducerConfigurationData producer =
        load(ClientSettings.producer(new ProducerSpec("topic", 0, 1, "producer-0", small)));
    assertThat(producer.getBatchingMaxMessages()).isGreaterThan(131_072 / 48);
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1000, '', 1",
    "131072, 1000, '', 131",
    "100, 1000, '', 1",
    "131072, 10, '', 5000",
    "131072, 1000, batchingMaxMessages=7, 7",
    "131072, 1000, batchingMaxBytes=2000, 2",
    "131072, 1000, batchingEnabled=false, 1"
  })
  void anEntryHoldsOneBatch(int batchBytes, int messageBytes, String override, long messages)
      throws DriverException {
    String[] parts = override.split("=");
    Map<String, String> overrides = parts.length < 2 ? Map.of() : Map.of(parts[0], parts[1]);
    ClientOptions options =
        new ClientOptions(
            batchBytes, 1_000, "none", 5000, 5000, 1, "all", messageBytes, overrides, Map.of(), 0);
    assertThat(ClientSettings.entryMessagesMax(options)).isEqualTo(messages);
  }

  @ParameterizedTest
  @CsvSource({"0, 1000", "1, 1000", "1000, 1000", "1001, 2000", "5000, 5000"})
  void aDelayIsRoundedUpToWholeMilliseconds(long delayUs, long effectiveUs) throws DriverException {
    assertThat(
            producer(options(131_072, delayUs, "none", Map.of(), Map.of()))
                .getBatchingMaxPublishDelayMicros())
        .isEqualTo(effectiveUs);
  }

  @Test
  void aSubscriptionOfOthersTopicsBeginsAtTheirEnd() throws DriverException {
    ConsumerSpec spec =
        new ConsumerSpec(
            "topic",
            0,
            1,
            "sub-0",
            "consumer-0",
            false,
            options(0, 0, "none", Map.of(), Map.of()),
            io.tidegauge.worker.api.SubscriptionType.BY_PARTITION,
            true,
            null);
    assertThat(ClientSettings.consumer(spec))
        .containsEntry("subscriptionInitialPosition", "Latest");
  }

  @ParameterizedTest
  @CsvSource({"1, 5000", "10, 500", "100, 100", "10000, 100"})
  void partitionsShareTheReceiveQueue(int partitions, int queue) throws DriverException {
    assertThat(
            consumer(partitions, options(0, 0, "none", Map.of(), Map.of())).getReceiverQueueSize())
        .isEqualTo(queue);
  }

  @ParameterizedTest
  @CsvSource({"0", "1"})
  void noBatching(int batchBytes) throws DriverException {
    assertThat(producer(options(batchBytes, 1_000, "none", Map.of(), Map.of())).isBatchingEnabled())
        .isFalse();
  }

  @Test
  void overridesWin() throws DriverException {
    ClientOptions options =
        options(
            131_072,
            1_000,
            "none",
            Map.of("batchingMaxBytes", "7"),
            Map.of("receiverQueueSize", "9"));
    assertThat(producer(options).getBatchingMaxBytes()).isEqualTo(7);
    assertThat(consumer(1, options).getReceiverQueueSize()).isEqualTo(9);
  }

  @Test
  void theTypeOfSubscriptionIsTheWorkloadsAlone() {
    ClientOptions options =
        options(131_072, 1_000, "none", Map.of(), Map.of("subscriptionType", "Key_Shared"));
    // What is checked follows from the type, so a setting must not change it behind our back.
    assertThatThrownBy(() -> consumer(1, options))
        .isInstanceOf(DriverException.class)
        .hasMessageContaining("\"subscriptionType\" is set by Tidegauge");
  }

  @Test
  void unknownKeysNameTheNearestOne() {
    assertThatThrownBy(
            () -> producer(options(0, 0, "none", Map.of("batchingMaxByte", "7"), Map.of())))
        .isInstanceOf(DriverException.class)
        .hasMessage(
            "Pulsar has no producer setting \"batchingMaxByte\"; did you mean"
                + " \"batchingMaxBytes\"?");
    assertThatThrownBy(
            () -> consumer(1, options(0, 0, "none", Map.of(), Map.of("receiverQueue", "7"))))
        .hasMessage(
            "Pulsar has no consumer setting \"receiverQueue\"; did you mean"
                + " \"receiverQueueSize\"?");
    assertThatThrownBy(() -> Connection.of(Map.of("serviceURL", "pulsar://x:1")))
        .hasMessage(
            "Pulsar has no connection setting \"serviceURL\"; did you mean \"serviceUrl\"?");
  }

  @Test
  void aValueThatDoesNotFitIsAnError() {
    assertThatThrownBy(
            () -> producer(options(0, 0, "none", Map.of("batchingMaxBytes", "many"), Map.of())))
        .isInstanceOf(DriverException.class)
        .hasMessageStartingWith("Pulsar could not use the producer settings given: ")
        .hasMessageContaining("many");
  }

  @Test
  void whatTheDriverNeedsCannotBeOverridden() {
    assertThatThrownBy(
            () -> consumer(1, options(0, 0, "none", Map.of(), Map.of("poolMessages", "true"))))
        .isInstanceOf(DriverException.class)
        .hasMessageContaining("poolMessages");
  }

  @Test
  void theClientIsLimitedByNothingButTheEngine() throws DriverException {
    Connection connection = Connection.of(URLS);
    assertThat(connection.adminUrl()).isEqualTo("http://127.0.0.1:8080");
    ClientConfigurationData client =
        ClientSettings.loadClient(
            ClientSettings.client(connection, options(0, 0, "none", Map.of(), Map.of())));
    assertThat(client.getMemoryLimitBytes()).isZero();
    assertThat(client.getConnectionsPerBroker()).isEqualTo(3);
    assertThat(client.getServiceUrl()).isEqualTo("pulsar://127.0.0.1:6650");
  }

  @Test
  void secretsAreHidden() throws DriverException {
    ClientConfigurationData client = new ClientConfigurationData();
    client.setAuthParams("token:very-secret");
    client.setTlsKeyStorePassword("very-secret");
    List<EffectiveSetting> effective = new ArrayList<>();
    EffectiveSettings.of("client", client, new ClientConfigurationData(), effective);
    assertThat(effective.toString()).doesNotContain("very-secret");
    assertThat(effective)
        .contains(new EffectiveSetting("client", "keepAliveIntervalSeconds", "30", true))
        .contains(new EffectiveSetting("client", "authParams", "(hidden)", false, ""));
  }

  @Test
  void outcomesAreBoundedWhereThatIsAskedFor() throws DriverException {
    ClientOptions bounded =
        new ClientOptions(0, 0, "none", 5000, 5000, 3, "all", 1024, Map.of(), Map.of(), 9_000);
    ClientOptions usual = options(0, 0, "none", Map.of(), Map.of());
    assertThat(producer(bounded).getSendTimeoutMs()).isEqualTo(9_000);
    assertThat(producer(usual).getSendTimeoutMs()).isEqualTo(30_000);
    Connection connection =
        Connection.of(Map.of("serviceUrl", "pulsar://h:1", "adminUrl", "http://h:2"));
    assertThat(ClientSettings.client(connection, bounded))
        .containsEntry("maxBackoffIntervalNanos", 1_000_000_000L);
    assertThat(ClientSettings.client(connection, usual))
        .doesNotContainKey("maxBackoffIntervalNanos");
  }

  private static ProducerConfigurationData producer(ClientOptions options) throws DriverException {
    return load(ClientSettings.producer(new ProducerSpec("topic", 0, 1, "producer-0", options)));
  }

  private static ProducerConfigurationData load(Map<String, Object> settings)
      throws DriverException {
    return ClientSettings.load(
        Role.PRODUCER, settings, new ProducerConfigurationData(), ProducerConfigurationData.class);
  }

  private static ConsumerConfigurationData<?> consumer(int partitions, ClientOptions options)
      throws DriverException {
    return ClientSettings.load(
        Role.CONSUMER,
        ClientSettings.consumer(
            new ConsumerSpec("topic", 0, partitions, "sub-0", "consumer-0", false, options)),
        new ConsumerConfigurationData<>(),
        ConsumerConfigurationData.class);
  }

  private static ClientOptions options(
      int batchBytes,
      long delayUs,
      String compression,
      Map<String, String> producerOverrides,
      Map<String, String> consumerOverrides) {
    return new ClientOptions(
        batchBytes,
        delayUs,
        compression,
        5000,
        5000,
        3,
        "all",
        1024,
        producerOverrides,
        consumerOverrides,
        0);
  }
}
