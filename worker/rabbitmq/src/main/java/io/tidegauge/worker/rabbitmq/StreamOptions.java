package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.stream.ConsumerFlowStrategy;
import com.rabbitmq.stream.ProducerBuilder;
import com.rabbitmq.stream.compression.Compression;
import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.drivers.FoundSettings;
import io.tidegauge.worker.drivers.SettingChecks;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Settings of the stream client's producers and consumers.
 *
 * @param batchSize largest batch, in messages (the client knows no bytes)
 * @param dynamicBatch whether a batch is sent as soon as the one before is on its way, full or not
 *     (the client's default)
 * @param batchDelayMs longest time a message waits for its batch, without dynamic batches
 * @param unconfirmedMessagesMax above it the client blocks; the engine's own limit must be what is
 *     met first
 * @param subEntrySize messages compressed together; 1 = no sub-batches
 * @param compression null for none
 * @param confirmTimeoutMs after which a message without a confirm is given up
 * @param initialCredits chunks (the broker's batches) under way to a consumer; the client has no
 *     limit in messages
 */
record StreamOptions(
    int batchSize,
    boolean dynamicBatch,
    int batchDelayMs,
    int unconfirmedMessagesMax,
    int subEntrySize,
    Compression compression,
    int confirmTimeoutMs,
    int initialCredits) {
  private static final List<String> PRODUCER_KEYS =
      List.of(
          "batchSize",
          "dynamicBatch",
          "batchPublishingDelayMs",
          "maxUnconfirmedMessages",
          "subEntrySize");
  private static final List<String> CONSUMER_KEYS = List.of("initialCredits");

  /**
   * The client packs no more into one frame than the server allows (1 MiB by default): larger
   * batches are split.
   */
  private static final int BATCH_MESSAGES_MAX = 10_000;

  private static final int SUB_ENTRY_MESSAGES_MAX = 100;

  // The client library's own defaults, which a test reads from it.
  static final int BATCH_MESSAGES_DEFAULT = 100;
  static final boolean DYNAMIC_BATCH_DEFAULT = true;
  static final int BATCH_DELAY_MS_DEFAULT = 100;
  static final int UNCONFIRMED_MESSAGES_DEFAULT = 10_000;
  static final int SUB_ENTRY_DEFAULT = 1;
  static final int CONFIRM_TIMEOUT_MS_DEFAULT = 30_000;
  static final int ENQUEUE_TIMEOUT_MS_DEFAULT = 10_000;
  private static final int INITIAL_CREDITS_DEFAULT = 10;

  /** Zero: never give a message up because the client's own limit is met. */
  private static final int ENQUEUE_TIMEOUT_MS = 0;

  static StreamOptions of(ClientOptions options) throws DriverException {
    Map<String, String> producer = options.producerOverrides();
    Map<String, String> consumer = options.consumerOverrides();
    SettingChecks.checkNames(
        "RabbitMQ", "stream producer setting", producer.keySet(), PRODUCER_KEYS);
    SettingChecks.checkNames(
        "RabbitMQ", "stream consumer setting", consumer.keySet(), CONSUMER_KEYS);
    ProducerOptions.checkAcks(options.acks());
    Compression compression = compression(options.compression());
    // Of the largest, so that no frame of them is too long for the server.
    int fit = Math.max(1, options.batchBytesMax() / Math.max(1, options.messageBytesMax()));
    int batch =
        SettingChecks.parseWholeNumber(
            Connection.SYSTEM, producer, "batchSize", Math.min(fit, BATCH_MESSAGES_MAX), 1);
    int delayMs = (int) Math.max(1, (options.batchDelayUsMax() + 999) / 1000);
    return new StreamOptions(
        batch,
        SettingChecks.parseTruth(
            Connection.SYSTEM, "dynamicBatch", producer.getOrDefault("dynamicBatch", "true")),
        SettingChecks.parseWholeNumber(
            Connection.SYSTEM, producer, "batchPublishingDelayMs", delayMs, 1),
        // One more than the engine allows, so that it is never the client that blocks.
        SettingChecks.parseWholeNumber(
            Connection.SYSTEM,
            producer,
            "maxUnconfirmedMessages",
            options.inFlightMessagesMax() + 1,
            1),
        SettingChecks.parseWholeNumber(
            Connection.SYSTEM,
            producer,
            "subEntrySize",
            compression == null ? 1 : Math.min(batch, SUB_ENTRY_MESSAGES_MAX),
            1),
        compression,
        // The client takes no less than a second.
        options.outcomeTimeoutMs() > 0
            ? Math.max(1_000, options.outcomeTimeoutMs())
            : CONFIRM_TIMEOUT_MS_DEFAULT,
        SettingChecks.parseWholeNumber(
            Connection.SYSTEM, consumer, "initialCredits", INITIAL_CREDITS_DEFAULT, 1));
  }

  private static Compression compression(String name) throws DriverException {
    if (name.equals("none")) {
      return null;
    }
    for (Compression compression : Compression.values()) {
      if (compression.name().toLowerCase(Locale.ROOT).equals(name)) {
        return compression;
      }
    }
    throw new DriverException("RabbitMQ's stream client has no compression \"" + name + "\"");
  }

  ProducerBuilder applyTo(ProducerBuilder builder) {
    builder
        .batchSize(batchSize)
        .dynamicBatch(dynamicBatch)
        .batchPublishingDelay(Duration.ofMillis(batchDelayMs))
        .maxUnconfirmedMessages(unconfirmedMessagesMax)
        .enqueueTimeout(Duration.ofMillis(ENQUEUE_TIMEOUT_MS))
        .confirmTimeout(Duration.ofMillis(confirmTimeoutMs))
        .subEntrySize(subEntrySize);
    return compression == null ? builder : builder.compression(compression);
  }

  ConsumerFlowStrategy flow() {
    return ConsumerFlowStrategy.creditOnChunkArrival(initialCredits);
  }

  /** What was given to the client, for disclosure. */
  List<EffectiveSetting> disclosedProducer() {
    FoundSettings all = new FoundSettings();
    all.add("producer", "protocol", "RabbitMQ stream protocol");
    all.add("producer", "batchSize", messages(batchSize), messages(BATCH_MESSAGES_DEFAULT));
    all.add("producer", "dynamicBatch", dynamicBatch, DYNAMIC_BATCH_DEFAULT);
    if (dynamicBatch) {
      all.add("producer", "batchPublishingDelayMs", "none: batches are dynamic");
    } else {
      all.add("producer", "batchPublishingDelayMs", batchDelayMs, BATCH_DELAY_MS_DEFAULT);
    }
    all.add(
        "producer", "maxUnconfirmedMessages", unconfirmedMessagesMax, UNCONFIRMED_MESSAGES_DEFAULT);
    all.add("producer", "subEntrySize", subEntrySize, SUB_ENTRY_DEFAULT);
    all.add("producer", "confirmTimeoutMs", confirmTimeoutMs, CONFIRM_TIMEOUT_MS_DEFAULT);
    all.add("producer", "enqueueTimeoutMs", ENQUEUE_TIMEOUT_MS, ENQUEUE_TIMEOUT_MS_DEFAULT);
    all.add("producer", "compression", compression == null ? "none" : compression.name(), "none");
    all.add("producer", "publisher.confirms", "true");
    all.add("producer", "acks", "the broker confirms, the client has no choice");
    all.add("producer", "partitioner", "the driver: hash of the key, else round robin");
    return all.all();
  }

  /** Likewise for consumers. */
  List<EffectiveSetting> disclosedConsumer() {
    FoundSettings all = new FoundSettings();
    all.add("consumer", "protocol", "RabbitMQ stream protocol");
    all.add("consumer", "offset", "first, then the consumer's own stored one");
    all.add("consumer", "tracking", "the client's automatic one (every 10,000 messages and 5 s)");
    all.add(
        "consumer", "initialCredits", credits(initialCredits), credits(INITIAL_CREDITS_DEFAULT));
    all.add(
        "consumer", "assignment", "the driver: each partition has one reader in a subscription");
    return all.all();
  }

  private static String messages(int count) {
    return count + " messages";
  }

  private static String credits(int chunks) {
    return chunks + " chunks; the client has no limit in messages";
  }
}
