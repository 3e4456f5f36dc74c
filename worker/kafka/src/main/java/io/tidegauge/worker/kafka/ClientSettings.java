package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.drivers.SettingChecks;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteBufferDeserializer;

/**
 * Maps the neutral client options to settings of the Kafka client. What is not set here keeps the
 * client's default, so that the measured client is the one that users run. Pure.
 */
final class ClientSettings {
  /** A record's own bytes and its share of the batch header, rounded up. */
  private static final int RECORD_OVERHEAD_BYTES = 128;

  private static final long BUFFER_BYTES_MIN = 32L << 20;
  private static final int REQUEST_BYTES_MIN = 1 << 20;
  private static final long FETCH_BYTES_MAX = ConsumerConfig.DEFAULT_FETCH_MAX_BYTES;

  /**
   * Every partition may have some messages under way, however many partitions share a consumer's
   * queue.
   */
  private static final int PARTITION_QUEUE_MESSAGES_MIN = 100;

  /**
   * The default of 3 s would make every consumer but the first wait that long for the rebalance
   * that lets it in, and so the preparation of each trial. One small request every half second is
   * no load.
   */
  private static final String HEARTBEAT_INTERVAL_MS = "500";

  private static final String CLASSIC = "classic";

  /** What a share consumer throws at, by its own list. */
  static final Set<String> NOT_OF_SHARE_GROUPS =
      Set.of(
          ConsumerConfig.AUTO_OFFSET_RESET_CONFIG,
          ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG,
          ConsumerConfig.GROUP_PROTOCOL_CONFIG,
          ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG,
          ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG,
          ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG,
          ConsumerConfig.GROUP_INSTANCE_ID_CONFIG,
          ConsumerConfig.GROUP_REMOTE_ASSIGNOR_CONFIG,
          ConsumerConfig.ISOLATION_LEVEL_CONFIG,
          ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG,
          ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG);

  /** Chosen by the driver: giving them would break it. */
  private static final Set<String> RESERVED =
      Set.of(
          "bootstrap.servers",
          "key.serializer",
          "value.serializer",
          "key.deserializer",
          "value.deserializer");

  private ClientSettings() {}

  /** Of a client that so many producers send with. */
  static Map<String, Object> producer(Connection connection, ProducerSpec spec, int users)
      throws DriverException {
    ClientOptions options = spec.options();
    checkOverrides("producer setting", options.producerOverrides(), ProducerConfig.configNames());
    Map<String, Object> all = connection.settingsFor(ProducerConfig.configNames());
    boolean batching = options.batchBytesMax() > 1;
    all.put(ProducerConfig.CLIENT_ID_CONFIG, spec.clientId());
    all.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, InFlightSerializer.Key.class.getName());
    all.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, InFlightSerializer.Value.class.getName());
    all.put(ProducerConfig.BATCH_SIZE_CONFIG, batching ? options.batchBytesMax() : 0);
    // Whole milliseconds only; a delay that was asked for never becomes none.
    all.put(
        ProducerConfig.LINGER_MS_CONFIG, batching ? (options.batchDelayUsMax() + 999) / 1000 : 0);
    all.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, options.compression());
    // Idempotence follows: on with "all" (the client's default), which the client turns off for
    // "1".
    all.put(ProducerConfig.ACKS_CONFIG, acks(options.acks()));
    all.put(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, 5);
    all.put(ProducerConfig.BUFFER_MEMORY_CONFIG, users * bufferBytes(spec.partitions(), options));
    all.put(
        ProducerConfig.MAX_REQUEST_SIZE_CONFIG,
        Math.max(
            REQUEST_BYTES_MIN,
            Math.max(options.batchBytesMax(), recordBytesMax(options) + RECORD_OVERHEAD_BYTES)));
    if (options.outcomeTimeoutMs() > 0) {
      giveUpAfter(options.outcomeTimeoutMs(), all);
    }
    all.putAll(options.producerOverrides());
    return all;
  }

  /** How many messages of a producer's a batch can hold. What it is compressed to is not known. */
  static long batchMessagesMax(ClientOptions options) {
    Map<String, String> overrides = options.producerOverrides();
    String compression =
        overrides.getOrDefault(ProducerConfig.COMPRESSION_TYPE_CONFIG, options.compression());
    String bytes =
        overrides.getOrDefault(
            ProducerConfig.BATCH_SIZE_CONFIG, String.valueOf(options.batchBytesMax()));
    long messages = options.inFlightMessagesMax();
    // What is no number is refused with the producers, by its name.
    if ("none".equals(compression) && bytes.strip().matches("\\d{1,10}")) {
      long held = Long.parseLong(bytes.strip()) / Math.max(1, options.messageBytes());
      messages = Math.min(messages, held);
    }
    return Math.max(1, messages);
  }

  /**
   * A message gets its outcome within that time, from send() on. A request that is not answered is
   * given up early enough for another try; the client refuses a delivery timeout shorter than
   * linger and one request.
   */
  private static void giveUpAfter(int ms, Map<String, Object> all) {
    int requestMs = Math.max(1, ms / 3);
    long lingerMs = ((Number) all.get(ProducerConfig.LINGER_MS_CONFIG)).longValue();
    all.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, requestMs);
    all.put(
        ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG,
        (int) Math.min(Integer.MAX_VALUE, Math.max(ms, requestMs + lingerMs)));
    all.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, (long) ms);
  }

  static Map<String, Object> consumer(Connection connection, ConsumerSpec spec)
      throws DriverException {
    ClientOptions options = spec.options();
    checkOverrides("consumer setting", options.consumerOverrides(), ConsumerConfig.configNames());
    Map<String, Object> all = connection.settingsFor(ConsumerConfig.configNames());
    int fetchBytes = fetchBytes(spec.partitions(), options);
    all.put(ConsumerConfig.CLIENT_ID_CONFIG, spec.clientId());
    all.put(ConsumerConfig.GROUP_ID_CONFIG, groupId(spec));
    all.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, CLASSIC);
    all.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteBufferDeserializer.class.getName());
    all.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteBufferDeserializer.class.getName());
    all.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    // The client's own periodic commit, as most users have it: asynchronous, every 5 s.
    all.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, true);
    all.put(ConsumerConfig.FETCH_MAX_BYTES_CONFIG, fetchBytes);
    all.put(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, fetchBytes);
    all.putAll(options.consumerOverrides());
    if (CLASSIC.equalsIgnoreCase(String.valueOf(all.get(ConsumerConfig.GROUP_PROTOCOL_CONFIG)))) {
      // The newer protocol takes it from the broker and refuses to be given it.
      all.putIfAbsent(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, HEARTBEAT_INTERVAL_MS);
    }
    return all;
  }

  /** The same of a member of a share group, whose client refuses what only other groups have. */
  static Map<String, Object> shareConsumer(Connection connection, ConsumerSpec spec)
      throws DriverException {
    for (String key : spec.options().consumerOverrides().keySet()) {
      if (NOT_OF_SHARE_GROUPS.contains(key)) {
        throw new DriverException(
            "Kafka's share groups (subscription-type: shared) have no consumer setting \""
                + key
                + "\"");
      }
    }
    Map<String, Object> all = consumer(connection, spec);
    all.keySet().removeAll(NOT_OF_SHARE_GROUPS);
    int queue = Math.max(1, spec.options().receiveQueueMessages());
    if (queue < ConsumerConfig.DEFAULT_MAX_POLL_RECORDS
        && !all.containsKey(ConsumerConfig.MAX_POLL_RECORDS_CONFIG)) {
      // What a poll gave a consumer is locked for it: no other takes it meanwhile. Else the broker
      // may give whole batches, however many records they have.
      all.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, queue);
      all.putIfAbsent(ConsumerConfig.SHARE_ACQUIRE_MODE_CONFIG, "record_limit");
    }
    return all;
  }

  /**
   * One group for each topic and subscription: a shared one would rebalance over all topics at
   * once.
   */
  static String groupId(ConsumerSpec spec) {
    return groupId(spec.topic(), spec.subscription());
  }

  static String groupId(String topic, String subscription) {
    return topic + "-" + subscription;
  }

  /** Whether a group is one of those that read a topic in a trial or a probe, of any process. */
  static boolean isGroupOf(String topic, String group) {
    String prefix = topic + "-";
    return group.startsWith(prefix)
        && (group.substring(prefix.length()).matches("tg-[0-9a-f]+-sub-\\d+")
            || group.equals(prefix + topic + "-probe"));
  }

  private static void checkOverrides(String what, Map<String, String> overrides, Set<String> valid)
      throws DriverException {
    SettingChecks.checkOverrides(Connection.SYSTEM, what, overrides.keySet(), valid, RESERVED);
  }

  private static String acks(String acks) throws DriverException {
    return switch (acks) {
      case "all" -> "all";
      case "one" -> "1";
      default -> throw new DriverException("acks must be \"all\" or \"one\", not \"" + acks + "\"");
    };
  }

  private static int recordBytes(ClientOptions options) {
    return options.messageBytes() + RECORD_OVERHEAD_BYTES;
  }

  private static int recordBytesMax(ClientOptions options) {
    return options.messageBytesMax() + RECORD_OVERHEAD_BYTES;
  }

  /**
   * Enough for every message that may be in flight, so that the client's buffer is never what
   * blocks. The client hands out whole batches: besides full ones, each partition may have up to
   * six with a single message (five requests under way and one filling).
   */
  private static long bufferBytes(int partitions, ClientOptions options) {
    long inFlight = Math.max(1, options.inFlightMessagesMax());
    long batchBytes = Math.max(options.batchBytesMax(), recordBytesMax(options));
    long partlyFilled = Math.min(inFlight, 6L * partitions) * batchBytes;
    return Math.max(BUFFER_BYTES_MIN, partlyFilled + 2 * inFlight * recordBytes(options));
  }

  /**
   * The client limits what it holds in bytes, not messages: the bytes of the messages that a
   * consumer may hold, at least one whole message or batch, at most the client's default.
   */
  private static int fetchBytes(int partitions, ClientOptions options) {
    long queue = options.receiveQueueMessages();
    long messages = Math.max(queue, partitions * Math.min(queue, PARTITION_QUEUE_MESSAGES_MIN));
    long wanted =
        Math.max(
            messages * recordBytes(options), Math.max(options.batchBytesMax(), REQUEST_BYTES_MIN));
    return (int) Math.min(FETCH_BYTES_MAX, wanted);
  }
}
