package io.tidegauge.worker.app;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.Arrival;
import io.tidegauge.worker.engine.Share;
import io.tidegauge.worker.engine.TrialPlan;
import io.tidegauge.worker.engine.check.ConsumerWork;
import io.tidegauge.worker.engine.load.Keys;
import io.tidegauge.worker.engine.schedule.RateSchedule;
import io.tidegauge.worker.proto.Compression;
import io.tidegauge.worker.proto.KeyChoice;
import io.tidegauge.worker.proto.Payload;
import io.tidegauge.worker.proto.PrepareRequest;
import java.util.List;

/**
 * Orders as the engine wants them. Throws {@link IllegalArgumentException} if they make no sense.
 */
final class FromProto {
  private FromProto() {}

  static TrialPlan plan(PrepareRequest r) {
    return new TrialPlan(
        r.getTrialId(),
        r.getSeed(),
        topics(r),
        new TrialPlan.Users(
            r.getProducersPerTopic(),
            r.getSubscriptionsPerTopic(),
            r.getConsumersPerSubscription(),
            pausedSubscriptions(r)),
        new TrialPlan.Payload(
            r.getPayload().getMessageBytes(),
            r.getPayload().getRandomShare(),
            r.getPayload().getFile(),
            Math.max(1, r.getPayload().getPoolBodies()),
            r.getPayload().getSizesList(),
            r.getPayload().getGiven()),
        new TrialPlan.KeyRange(
            keys(r.getKeys()), r.getDistinctKeys(), r.getZipfExponent(), r.getKeyFile()),
        new TrialPlan.Load(
            arrival(r),
            r.getMsgsPerS(),
            schedule(r.getSchedule()),
            r.getOwnLagToleranceNs(),
            r.getWindowMessages()),
        client(r.getClient(), r.getPayload()),
        new TrialPlan.Variant(
            subscriptionType(r),
            r.getExistingTopics(),
            r.getHistoryDirectory(),
            r.hasSpinShareMax() ? r.getSpinShareMax() : TrialPlan.Variant.SPIN_SHARE_MAX,
            r.hasGrainNs() ? r.getGrainNs() : TrialPlan.Variant.GRAIN_BY_CPUS,
            new ConsumerWork(
                r.getProcessingNsList(), r.getProcessingOnCpu(), r.getConsumerMsgsPerSMax()),
            r.hasShare() ? share(r.getShare()) : null));
  }

  private static Share share(io.tidegauge.worker.proto.Share s) {
    return new Share(s.getWorker(), s.getWorkers(), s.getClockAheadNsList());
  }

  private static SubscriptionType subscriptionType(PrepareRequest r) {
    return switch (r.getSubscriptionType()) {
      case SUBSCRIBE_EXCLUSIVE -> SubscriptionType.EXCLUSIVE;
      case SUBSCRIBE_FAILOVER -> SubscriptionType.FAILOVER;
      case SUBSCRIBE_SHARED -> SubscriptionType.SHARED;
      case SUBSCRIBE_KEY_SHARED -> SubscriptionType.KEY_SHARED;
      case SUBSCRIBE_BY_PARTITION -> SubscriptionType.BY_PARTITION;
      default -> throw new IllegalArgumentException("unknown subscription type");
    };
  }

  private static RateSchedule schedule(io.tidegauge.worker.proto.RateSchedule s) {
    if (s.getPhasesCount() == 0) {
      return null;
    }
    return new RateSchedule(
        s.getPhasesList().stream()
            .map(
                p ->
                    new RateSchedule.Phase(
                        p.getFromMsgsPerS(), p.getToMsgsPerS(), p.getLengthNs(), p.getRecord()))
            .toList(),
        s.getRepeat());
  }

  private static int pausedSubscriptions(PrepareRequest r) {
    return r.getConsumersStartPaused()
        ? r.getSubscriptionsPerTopic()
        : r.getSubscriptionsStartPaused();
  }

  private static List<TopicSpec> topics(PrepareRequest r) {
    return r.getTopicsList().stream()
        .map(
            t ->
                new TopicSpec(
                    t.getName(),
                    t.getPartitions(),
                    t.getReplicationFactor(),
                    t.getSettingsMap(),
                    subscriptionType(r)))
        .toList();
  }

  private static Keys.Choice keys(KeyChoice choice) {
    return switch (choice) {
      case ROUND_ROBIN -> Keys.Choice.ROUND_ROBIN;
      case RANDOM -> Keys.Choice.RANDOM;
      case ZIPF -> Keys.Choice.ZIPF;
      case FROM_FILE -> Keys.Choice.FROM_FILE;
      default -> Keys.Choice.NONE;
    };
  }

  private static Arrival arrival(PrepareRequest r) {
    return switch (r.getArrival()) {
      case UNIFORM -> Arrival.UNIFORM;
      case POISSON -> Arrival.POISSON;
      case CLOSED_LOOP -> Arrival.CLOSED_LOOP;
      default ->
          throw new IllegalArgumentException("arrival must be UNIFORM, POISSON or CLOSED_LOOP");
    };
  }

  static ClientOptions client(io.tidegauge.worker.proto.ClientOptions c, Payload payload) {
    return new ClientOptions(
        c.getBatchBytesMax(),
        c.getBatchDelayUsMax(),
        compression(c.getCompression()),
        c.getInFlightMessagesMax(),
        Math.max(1, c.getReceiveQueueMessages()),
        Math.max(1, c.getConnectionsPerBroker()),
        acks(c.getAcks()),
        payload.getMessageBytes(),
        Math.max(payload.getMessageBytes(), payload.getMessageBytesMax()),
        c.getProducerOverridesMap(),
        c.getConsumerOverridesMap(),
        c.getOutcomeTimeoutMs());
  }

  private static String acks(String acks) {
    if (!acks.isEmpty() && !acks.equals("all") && !acks.equals("one")) {
      throw new IllegalArgumentException("acks must be 'all' or 'one', not '" + acks + "'");
    }
    return acks.isEmpty() ? "all" : acks;
  }

  private static String compression(Compression c) {
    return switch (c) {
      case LZ4 -> "lz4";
      case ZSTD -> "zstd";
      case SNAPPY -> "snappy";
      case GZIP -> "gzip";
      default -> "none";
    };
  }
}
