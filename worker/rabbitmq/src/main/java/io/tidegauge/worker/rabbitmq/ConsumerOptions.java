package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.drivers.FoundSettings;
import io.tidegauge.worker.drivers.SettingChecks;
import java.util.List;
import java.util.Map;

/**
 * Settings of an AMQP consumer.
 *
 * @param queueMessages deliveries that a consumer may hold unacknowledged, over all its queues
 * @param ackEvery deliveries acknowledged together; 0 = a quarter of a queue's prefetch, at most
 *     250
 * @param ackIntervalMs how long an acknowledgement is held back at most
 * @param autoAck whether the broker counts a delivery as acknowledged once it has written it to the
 *     socket; then nothing else here has an effect
 */
record ConsumerOptions(int queueMessages, int ackEvery, int ackIntervalMs, boolean autoAck) {
  private static final String PREFETCH = "prefetch";
  private static final String ACK_EVERY = "ackEvery";
  private static final String ACK_INTERVAL = "ackIntervalMs";
  private static final String AUTO_ACK = "autoAck";
  private static final String MANUAL = "manual, multiple=true";

  /** Every queue may have some deliveries under way, however many queues share a consumer. */
  private static final int PREFETCH_MIN = 100;

  /** The broker's own limit: 16 bits. */
  private static final int PREFETCH_MAX = 65_535;

  private static final int ACK_EVERY_MAX = 250;

  static ConsumerOptions of(ClientOptions options) throws DriverException {
    Map<String, String> overrides = options.consumerOverrides();
    SettingChecks.checkNames(
        "RabbitMQ",
        "consumer setting",
        overrides.keySet(),
        List.of(PREFETCH, ACK_EVERY, ACK_INTERVAL, AUTO_ACK));
    return new ConsumerOptions(
        SettingChecks.parseWholeNumber(
            Connection.SYSTEM, overrides, PREFETCH, Math.max(1, options.receiveQueueMessages()), 1),
        SettingChecks.parseWholeNumber(Connection.SYSTEM, overrides, ACK_EVERY, 0, 0),
        SettingChecks.parseWholeNumber(Connection.SYSTEM, overrides, ACK_INTERVAL, 50, 1),
        SettingChecks.parseTruth(
            Connection.SYSTEM, AUTO_ACK, overrides.getOrDefault(AUTO_ACK, "false")));
  }

  /** The prefetch of each of a consumer's queues. */
  int prefetchOf(int queues) {
    int share = (queueMessages + Math.max(1, queues) - 1) / Math.max(1, queues);
    return Math.min(PREFETCH_MAX, Math.max(share, Math.min(queueMessages, PREFETCH_MIN)));
  }

  /** Never so many that a queue's prefetch is used up while its acknowledgements are held back. */
  int ackEveryOf(int prefetch) {
    int most = Math.max(1, prefetch / 2);
    return ackEvery > 0
        ? Math.min(ackEvery, most)
        : Math.max(1, Math.min(ACK_EVERY_MAX, prefetch / 4));
  }

  /** What was given to the client, for disclosure. */
  List<EffectiveSetting> disclosed(int queues, int usersEach) {
    FoundSettings all = new FoundSettings();
    all.add("consumer", "protocol", "AMQP 0-9-1, blocking sockets, TCP_NODELAY");
    // The client's own form of basicConsume asks for acknowledgements, and without qos for no end.
    all.add("consumer", "acknowledgement", autoAck ? "automatic" : MANUAL, MANUAL);
    if (!autoAck) {
      int prefetch = prefetchOf(queues);
      all.add("consumer", PREFETCH, prefetch + " for each queue", "no limit");
      all.add("consumer", ACK_EVERY, ackEveryOf(prefetch));
      all.add("consumer", ACK_INTERVAL, ackIntervalMs);
    }
    all.add(
        "consumer",
        "connections",
        usersEach == 1
            ? "1 connection, 1 channel and 1 thread for each consumer"
            : "1 channel for each consumer, 1 connection and 1 thread for up to "
                + usersEach
                + " of them");
    all.add(
        "consumer", "assignment", "the driver: each partition has one reader in a subscription");
    return all.all();
  }
}
