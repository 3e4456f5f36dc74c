package io.tidegauge.worker.nats;

import io.nats.client.ConsumeOptions;
import io.nats.client.api.AckPolicy;
import io.nats.client.api.ConsumerConfiguration;
import io.nats.client.api.DeliverPolicy;
import io.nats.client.api.PriorityPolicy;
import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.drivers.FoundSettings;
import io.tidegauge.worker.drivers.SettingChecks;
import java.util.List;
import java.util.Map;

/**
 * Settings of a pull consumer.
 *
 * @param queueMessages what a consumer may have asked for, over all its partitions
 * @param thresholdPercent how much of a pull is left when the next one is asked for
 * @param expiresInMs how long a pull waits at the server
 * @param ackEvery deliveries acknowledged together, where one reader has each partition; 0 = a
 *     quarter of a partition's pull, at most 250
 * @param ackIntervalMs how long such an acknowledgement is held back at most
 * @param ackWaitMs after which what is not acknowledged is delivered again
 */
record ConsumerOptions(
    int queueMessages,
    int thresholdPercent,
    int expiresInMs,
    int ackEvery,
    int ackIntervalMs,
    int ackWaitMs) {
  private static final String BATCH = "batchSize";
  private static final String THRESHOLD = "thresholdPercent";
  private static final String EXPIRES = "expiresInMs";
  private static final String ACK_EVERY = "ackEvery";
  private static final String ACK_INTERVAL = "ackIntervalMs";
  private static final String ACK_WAIT = "ackWaitMs";
  private static final int BATCH_MIN = 100;

  /** The client never asks again for what it asked for one by one. */
  private static final int BATCH_LEAST = 10;

  private static final int ACK_EVERY_MAX = 250;
  private static final int ACK_WAIT_MS_DEFAULT = 30_000;
  private static final int ACK_PENDING_DEFAULT = 1_000;
  private static final String GROUP = "tidegauge";

  static ConsumerOptions of(ClientOptions options) throws DriverException {
    Map<String, String> given = options.consumerOverrides();
    SettingChecks.checkNames(
        Connection.SYSTEM,
        "consumer setting",
        given.keySet(),
        List.of(BATCH, THRESHOLD, EXPIRES, ACK_EVERY, ACK_INTERVAL, ACK_WAIT));
    return new ConsumerOptions(
        SettingChecks.parseWholeNumber(
            Connection.SYSTEM,
            given,
            BATCH,
            Math.max(BATCH_LEAST, options.receiveQueueMessages()),
            BATCH_LEAST),
        SettingChecks.parseWholeNumber(
            Connection.SYSTEM, given, THRESHOLD, ConsumeOptions.DEFAULT_THRESHOLD_PERCENT, 1),
        SettingChecks.parseWholeNumber(
            Connection.SYSTEM,
            given,
            EXPIRES,
            (int) ConsumeOptions.DEFAULT_EXPIRES_IN_MILLIS,
            1_000),
        SettingChecks.parseWholeNumber(Connection.SYSTEM, given, ACK_EVERY, 0, 0),
        SettingChecks.parseWholeNumber(Connection.SYSTEM, given, ACK_INTERVAL, 50, 1),
        SettingChecks.parseWholeNumber(Connection.SYSTEM, given, ACK_WAIT, ACK_WAIT_MS_DEFAULT, 1));
  }

  /** What is asked for of each of a consumer's partitions. */
  int batchOf(int partitions) {
    int share = (queueMessages + Math.max(1, partitions) - 1) / Math.max(1, partitions);
    return Math.max(share, Math.min(queueMessages, BATCH_MIN));
  }

  /** 1 where several consumers share a partition: each message is acknowledged by itself. */
  int ackEveryOf(int batch, SubscriptionType type) {
    if (type == SubscriptionType.SHARED) {
      return 1;
    }
    int most = Math.max(1, batch / 2);
    return ackEvery > 0
        ? Math.min(ackEvery, most)
        : Math.max(1, Math.min(ACK_EVERY_MAX, batch / 4));
  }

  ConsumeOptions consuming(int batch, SubscriptionType type) {
    ConsumeOptions.Builder builder =
        ConsumeOptions.builder()
            .batchSize(batch)
            .thresholdPercent(thresholdPercent)
            .expiresIn(expiresInMs);
    return type == SubscriptionType.FAILOVER ? builder.group(GROUP).build() : builder.build();
  }

  /** The durable consumer at the servers, the same whoever of the subscription makes it. */
  ConsumerConfiguration durable(ConsumerSpec spec) {
    boolean shared = spec.type() == SubscriptionType.SHARED;
    ConsumerConfiguration.Builder builder =
        ConsumerConfiguration.builder()
            .durable(Topic.safe(spec.subscription()))
            .deliverPolicy(spec.fromEnd() ? DeliverPolicy.New : DeliverPolicy.All)
            .ackPolicy(shared ? AckPolicy.Explicit : AckPolicy.All)
            .ackWait(ackWaitMs)
            // Pulls are what bounds deliveries under way.
            .maxAckPending(Math.max(ACK_PENDING_DEFAULT, 4L * queueMessages));
    if (spec.type() == SubscriptionType.FAILOVER) {
      builder.priorityGroups(GROUP).priorityPolicy(PriorityPolicy.PinnedClient);
    }
    return builder.build();
  }

  /** What was given to the client, for disclosure. */
  List<EffectiveSetting> disclosed(int partitions, SubscriptionType type) {
    int batch = batchOf(partitions);
    int every = ackEveryOf(batch, type);
    FoundSettings all = new FoundSettings();
    all.add("consumer", "acknowledgement", every == 1 ? "explicit" : "all up to a message");
    all.add(
        "consumer",
        BATCH,
        batch + " for each partition",
        ConsumeOptions.DEFAULT_MESSAGE_COUNT + " for each partition");
    all.add("consumer", THRESHOLD, thresholdPercent, ConsumeOptions.DEFAULT_THRESHOLD_PERCENT);
    all.add("consumer", EXPIRES, expiresInMs, ConsumeOptions.DEFAULT_EXPIRES_IN_MILLIS);
    all.add("consumer", ACK_EVERY, every);
    all.add("consumer", ACK_INTERVAL, ackIntervalMs);
    all.add("consumer", ACK_WAIT, ackWaitMs, ACK_WAIT_MS_DEFAULT);
    all.add(
        "consumer", "assignment", "the driver: each partition has one reader in a subscription");
    return all.all();
  }
}
