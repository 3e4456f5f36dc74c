package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.SettingsException.Role;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.drivers.SettingChecks;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.pulsar.client.impl.conf.ClientConfigurationData;
import org.apache.pulsar.client.impl.conf.ConfigurationDataUtils;
import org.apache.pulsar.client.impl.conf.ConsumerConfigurationData;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;

/**
 * Maps the neutral client options to settings of the Pulsar client, by the names of its
 * configuration classes. What is not set here keeps the client's default, so that the measured
 * client is the one that users run. Pure.
 */
final class ClientSettings {
  private static final int BATCH_MESSAGES_MIN = 1_000;
  private static final long RECONNECT_NS_MAX = 1_000_000_000L;

  /** The shortest that the client's builder takes, and its default. */
  private static final long BATCH_DELAY_US_MIN = 1_000;

  /**
   * Every partition may have some messages under way, however many partitions share a consumer's
   * queue.
   */
  private static final int PARTITION_QUEUE_MESSAGES_MIN = 100;

  /** Chosen by the driver: giving them would break it. */
  private static final Set<String> RESERVED =
      Set.of(
          "topicName",
          "producerName",
          "topicNames",
          "topicsPattern",
          "subscriptionName",
          "subscriptionType",
          "consumerName",
          "startPaused",
          "poolMessages",
          "batchReceivePolicy",
          "retryEnable");

  private ClientSettings() {}

  /** Settings of the client object as a whole. */
  static Map<String, Object> client(Connection connection, ClientOptions options) {
    Map<String, Object> all = new HashMap<>();
    all.put("connectionsPerBroker", Math.max(1, options.connectionsPerBroker()));
    // The engine bounds what is in flight; a second limit, in bytes, would block before it.
    all.put("memoryLimitBytes", 0);
    // Statistics for the log, kept for every message: noise and cost.
    all.put("statsIntervalSeconds", 0);
    all.put("operationTimeoutMs", Connection.TIMEOUT_MS);
    if (options.outcomeTimeoutMs() > 0) {
      // Who watches a restart must not find the client asleep: it waits up to 60 s by default.
      all.put("maxBackoffIntervalNanos", RECONNECT_NS_MAX);
    }
    all.putAll(connection.clientSettings());
    all.put("serviceUrl", connection.serviceUrl());
    return all;
  }

  static Map<String, Object> producer(ProducerSpec spec) throws DriverException {
    return producer(spec.options());
  }

  private static Map<String, Object> producer(ClientOptions options) throws DriverException {
    checkOverrides(
        "producer setting", options.producerOverrides(), new ProducerConfigurationData());
    boolean batching = options.batchBytesMax() > 1;
    Map<String, Object> all = new HashMap<>();
    all.put("batchingEnabled", batching);
    if (batching) {
      all.put("batchingMaxBytes", options.batchBytesMax());
      // Only the bytes are to limit a batch, as they do for every other system.
      all.put(
          "batchingMaxMessages",
          Math.max(
              BATCH_MESSAGES_MIN,
              options.batchBytesMax() / Math.max(1, options.messageBytes()) + 1));
      all.put("batchingMaxPublishDelayMicros", batchDelayUs(options));
    }
    all.put("compressionType", compression(options.compression()));
    // No limit of messages: the engine's window is the only one. Blocking would count as delay,
    // failing as loss.
    all.put("maxPendingMessages", 0);
    all.put("maxPendingMessagesAcrossPartitions", 0);
    all.put("blockIfQueueFull", true);
    if (options.outcomeTimeoutMs() > 0) {
      all.put("sendTimeoutMs", options.outcomeTimeoutMs());
    }
    all.putAll(options.producerOverrides());
    return all;
  }

  /** How many messages of a producer's an entry can hold: those of a batch. */
  static long entryMessagesMax(ClientOptions options) throws DriverException {
    ProducerConfigurationData effective =
        load(
            Role.PRODUCER,
            producer(options),
            new ProducerConfigurationData(),
            ProducerConfigurationData.class);
    if (!effective.isBatchingEnabled()) {
      return 1;
    }
    long messages = options.inFlightMessagesMax();
    if (effective.getBatchingMaxMessages() > 0) {
      messages = Math.min(messages, effective.getBatchingMaxMessages());
    }
    if (effective.getBatchingMaxBytes() > 0) {
      messages =
          Math.min(messages, effective.getBatchingMaxBytes() / Math.max(1, options.messageBytes()));
    }
    return Math.max(1, messages);
  }

  static Map<String, Object> consumer(ConsumerSpec spec) throws DriverException {
    ClientOptions options = spec.options();
    checkOverrides(
        "consumer setting", options.consumerOverrides(), new ConsumerConfigurationData<>());
    int queue = Math.max(1, options.receiveQueueMessages());
    int share =
        Math.max(
            queue / Math.max(1, spec.partitions()), Math.min(queue, PARTITION_QUEUE_MESSAGES_MIN));
    Map<String, Object> all = new HashMap<>();
    all.put("subscriptionType", subscriptionType(spec.type()));
    all.put("subscriptionInitialPosition", spec.fromEnd() ? "Latest" : "Earliest");
    all.put("receiverQueueSize", share);
    all.putAll(options.consumerOverrides());
    return all;
  }

  /**
   * Whole milliseconds like other systems' clients, at least one: the shortest that the client's
   * builder takes.
   */
  private static long batchDelayUs(ClientOptions options) {
    return Math.max(BATCH_DELAY_US_MIN, (options.batchDelayUsMax() + 999) / 1000 * 1000);
  }

  /** Failover keeps the order of each partition with any number of consumers; Shared does not. */
  private static String subscriptionType(SubscriptionType type) {
    return switch (type) {
      case BY_PARTITION, FAILOVER -> "Failover";
      case EXCLUSIVE -> "Exclusive";
      case SHARED -> "Shared";
      case KEY_SHARED -> "Key_Shared";
    };
  }

  private static String compression(String name) throws DriverException {
    return switch (name) {
      case "none" -> "NONE";
      case "lz4" -> "LZ4";
      case "zstd" -> "ZSTD";
      case "snappy" -> "SNAPPY";
      case "gzip" -> "ZLIB";
      default -> throw new DriverException("Pulsar has no compression \"" + name + "\"");
    };
  }

  private static void checkOverrides(String what, Map<String, String> overrides, Object defaults)
      throws DriverException {
    Set<String> valid = EffectiveSettings.settingsOf(defaults).keySet();
    SettingChecks.checkOverrides(Connection.SYSTEM, what, overrides.keySet(), valid, RESERVED);
  }

  /** The client's own configuration object with these settings, as its builder makes it. */
  static <T> T load(Role role, Map<String, Object> settings, T defaults, Class<T> type)
      throws DriverException {
    try {
      return ConfigurationDataUtils.loadData(settings, defaults, type);
    } catch (RuntimeException e) {
      String what = "use the " + role.name().toLowerCase(Locale.ROOT) + " settings given";
      throw Failures.refusedSettings(role, what, e.getCause() == null ? e : e.getCause());
    }
  }

  /** The same of the client as a whole. */
  static ClientConfigurationData loadClient(Map<String, Object> settings) throws DriverException {
    try {
      return ConfigurationDataUtils.loadData(
          settings, new ClientConfigurationData(), ClientConfigurationData.class);
    } catch (RuntimeException e) {
      throw Failures.describe(
          "use the connection settings given", e.getCause() == null ? e : e.getCause());
    }
  }
}
