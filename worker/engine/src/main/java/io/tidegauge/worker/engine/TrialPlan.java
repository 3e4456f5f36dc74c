package io.tidegauge.worker.engine;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.check.ConsumerWork;
import io.tidegauge.worker.engine.load.Keys;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;
import io.tidegauge.worker.engine.message.ShortMessage;
import io.tidegauge.worker.engine.schedule.RateSchedule;
import java.util.List;
import java.util.stream.IntStream;

/** What a trial is to do. */
public record TrialPlan(
    long trialId,
    long seed,
    List<TopicSpec> topics,
    Users users,
    Payload payload,
    KeyRange keys,
    Load load,
    ClientOptions client,
    Variant variant) {

  /** Largest message, header included. */
  public static final int MESSAGE_BYTES_MAX = 20 << 20;

  /** What messages of several sizes may take together, once each. */
  public static final long SIZES_BYTES_MAX = 2 * PayloadPool.POOL_BYTES_MAX;

  /**
   * Who sends and receives, counted per topic and per subscription of a topic.
   *
   * @param pausedSubscriptions the last so many of each topic do not read until they are resumed
   */
  public record Users(
      int producersPerTopic,
      int subscriptionsPerTopic,
      int consumersPerSubscription,
      int pausedSubscriptions) {
    /** Throws {@link IllegalArgumentException} with the reason if that makes no sense. */
    public Users {
      require(producersPerTopic >= 0, "producers_per_topic must be 0 or more");
      require(subscriptionsPerTopic >= 0, "subscriptions_per_topic must be 0 or more");
      require(
          producersPerTopic + subscriptionsPerTopic > 0,
          "without producers and subscriptions there is nothing to do");
      require(
          consumersPerSubscription >= (subscriptionsPerTopic > 0 ? 1 : 0),
          "a subscription needs at least one consumer");
      require(
          pausedSubscriptions >= 0 && pausedSubscriptions <= subscriptionsPerTopic,
          "there are fewer subscriptions than are to start paused");
    }

    /** Whether a subscription, by its number from 0, starts paused. */
    public boolean startsPaused(int subscription) {
      return subscription >= subscriptionsPerTopic - pausedSubscriptions;
    }
  }

  /**
   * Which keys messages have.
   *
   * @param distinct how many there are to choose from
   * @param zipfExponent of {@link Keys.Choice#ZIPF}
   * @param file of {@link Keys.Choice#FROM_FILE}
   */
  public record KeyRange(Keys.Choice choice, int distinct, double zipfExponent, String file) {
    /** Throws {@link IllegalArgumentException} if there is no such distribution. */
    public KeyRange {
      require(
          choice != Keys.Choice.ZIPF || zipfExponent > 0 && zipfExponent <= 10,
          "zipf_exponent must be above 0, to 10: " + zipfExponent);
    }

    /** Keys that are all as frequent. */
    public KeyRange(Keys.Choice choice, int distinct) {
      this(choice, distinct, 0, "");
    }
  }

  /**
   * When messages are due.
   *
   * @param msgsPerS total over all producers, until anything changes it; ignored by a closed loop
   * @param schedule what the rate does from the window's beginning on; null if it stays
   * @param ownLagToleranceNs own lag above this is counted
   * @param windowMessages so many are sent in the measured window, by all producers, and none after
   *     them; 0 = as many as are due
   */
  public record Load(
      Arrival arrival,
      double msgsPerS,
      RateSchedule schedule,
      long ownLagToleranceNs,
      long windowMessages) {
    /** A load that goes on until it is stopped. */
    public Load(Arrival arrival, double msgsPerS, RateSchedule schedule, long ownLagToleranceNs) {
      this(arrival, msgsPerS, schedule, ownLagToleranceNs, 0);
    }

    /** Throws {@link IllegalArgumentException} with the reason if that makes no sense. */
    public Load {
      require(
          schedule == null || arrival != Arrival.CLOSED_LOOP, "a closed loop follows no schedule");
      require(
          arrival == Arrival.CLOSED_LOOP || (msgsPerS >= 0 && !Double.isInfinite(msgsPerS)),
          "msgs_per_s must be 0 or more");
      require(windowMessages >= 0, "window_messages must be 0 or more");
    }

    /** How many of the window's messages are a producer's, of so many; all that are due if any. */
    long windowMessagesOf(int producer, int producers) {
      if (windowMessages == 0) {
        return Long.MAX_VALUE;
      }
      return windowMessages / producers + (producer < windowMessages % producers ? 1 : 0);
    }

    /** The highest rate that is planned; infinite in a closed loop. */
    public double msgsPerSMax() {
      if (arrival == Arrival.CLOSED_LOOP) {
        return Double.POSITIVE_INFINITY;
      }
      return schedule == null ? msgsPerS : Math.max(msgsPerS, schedule.msgsPerSMax());
    }
  }

  /**
   * Message values.
   *
   * @param messageBytes whole value with header; on average, where they differ
   * @param randomShare share of random bytes in the body, 0 to 1
   * @param file cut the bodies from this file instead, if not empty
   * @param poolBodies different bodies
   * @param sizes whole values of the bodies, in their order, in place of {@code poolBodies}; empty
   *     if all are of one size
   * @param given whether each line of the file is a body, or each file if it is a directory
   */
  public record Payload(
      int messageBytes,
      double randomShare,
      String file,
      int poolBodies,
      List<Integer> sizes,
      boolean given) {
    /** Throws {@link IllegalArgumentException} if there is no room for a header in a size. */
    public Payload {
      sizes = List.copyOf(sizes);
      require(
          sizes.stream()
              .allMatch(bytes -> bytes >= MessageHeader.BYTES && bytes <= MESSAGE_BYTES_MAX),
          "sizes must be " + MessageHeader.BYTES + " to " + MESSAGE_BYTES_MAX);
      require(
          sizes.stream().mapToLong(bytes -> bytes).sum() <= SIZES_BYTES_MAX,
          "sizes must be " + SIZES_BYTES_MAX + " bytes together at most");
    }

    /** Values of one size. */
    public Payload(int messageBytes, double randomShare, String file, int poolBodies) {
      this(messageBytes, randomShare, file, poolBodies, List.of(), false);
    }
  }

  /**
   * What most trials leave as it is.
   *
   * @param subscriptionType how the consumers of a subscription share its messages
   * @param existingTopics whether the topics are others', never created nor deleted
   * @param historyDirectory where producers write what they sent and what became of it; empty if
   *     nowhere
   * @param spinShareMax of a CPU, 0 to 1, that each load thread may spin away to be punctual
   * @param grainNs half of the messages may be so late, to be sent together with others; 0 = each
   *     when it is due, negative = as the CPUs suggest
   * @param work what a consumer does with each message before it acknowledges it
   * @param share what this worker does of it, on topics that exist when it prepares; null if it
   *     carries out the trial alone
   */
  public record Variant(
      SubscriptionType subscriptionType,
      boolean existingTopics,
      String historyDirectory,
      double spinShareMax,
      long grainNs,
      ConsumerWork work,
      Share share) {
    /** What a trial may spin away unless it is given. */
    public static final double SPIN_SHARE_MAX = 0.05;

    /** No grain was asked for. */
    public static final long GRAIN_BY_CPUS = -1;

    /** Topics of our own, the usual subscriptions, no history. */
    public static final Variant NONE =
        new Variant(
            SubscriptionType.BY_PARTITION,
            false,
            "",
            SPIN_SHARE_MAX,
            GRAIN_BY_CPUS,
            ConsumerWork.NONE,
            null);

    /** Throws {@link IllegalArgumentException} if there is no such share. */
    public Variant {
      require(
          spinShareMax >= 0 && spinShareMax <= 1, "spin_share_max must be 0 to 1: " + spinShareMax);
    }
  }

  /** Throws {@link IllegalArgumentException} with the reason if the plan makes no sense. */
  public TrialPlan {
    topics = List.copyOf(topics);
    require(!topics.isEmpty(), "a trial needs at least one topic");
    require(
        variant.existingTopics() || topics.stream().allMatch(t -> t.partitions() > 0),
        "a topic needs at least one partition");
    require(
        variant.subscriptionType() != SubscriptionType.KEY_SHARED
            || keys.choice() != Keys.Choice.NONE
            || users.producersPerTopic() == 0,
        "key-shared subscriptions need messages with keys");
    require(
        variant.subscriptionType() != SubscriptionType.EXCLUSIVE
            || users.consumersPerSubscription() <= 1,
        "an exclusive subscription has one consumer");
    int bytes = payload.messageBytes();
    require(
        bytes >= 1 && bytes <= MESSAGE_BYTES_MAX,
        "message_bytes must be 1 to " + MESSAGE_BYTES_MAX + ": " + bytes);
    require(
        bytes >= ShortMessage.NAMED_BYTES
            || (users.producersPerTopic() <= 1 && users.consumersPerSubscription() <= 1),
        "messages below 8 B don't name their producer: one producer, one consumer");
    require(
        bytes >= MessageHeader.BYTES || variant.historyDirectory().isEmpty(),
        "a history needs messages of " + MessageHeader.BYTES + " B or more");
    require(client.inFlightMessagesMax() > 0, "in_flight_messages_max must be at least 1");
  }

  /**
   * Throws {@link IllegalArgumentException} if a worker with such a heap has no room for the values
   * of the messages that its producers may have in flight. They are taken as asked for, never
   * fewer: systems with unequal windows could not be compared.
   */
  void requireRoom(long heapBytes) {
    // The most that one worker has, so that all come to the same.
    long mine = (producers() + share().workers() - 1L) / share().workers();
    double bytes = (double) mine * client.inFlightMessagesMax() * payload.messageBytes();
    require(
        bytes <= heapBytes,
        "in_flight_messages_max: "
            + Math.round(bytes / (1 << 20))
            + " MiB of messages may be in flight, and the heap has "
            + (heapBytes >> 20)
            + " MiB");
  }

  /** Producers of all workers. */
  public int producers() {
    return topics.size() * users.producersPerTopic();
  }

  /** Consumers of all workers. */
  public int consumers() {
    return topics.size() * users.subscriptionsPerTopic() * users.consumersPerSubscription();
  }

  /** A consumer's number in the order in which they are dealt out. */
  public int consumer(int subscription, int topic, int ofTopic) {
    return (subscription * topics.size() + topic) * users.consumersPerSubscription() + ofTopic;
  }

  /** What the names begin with that a trial gives to its subscriptions. */
  public static String subscriptionPrefix(long trialId) {
    return "tg-" + Long.toHexString(trialId) + "-";
  }

  /** A subscription's name in the system, by its number from 0. */
  public String subscriptionName(int subscription) {
    return subscriptionPrefix(trialId) + "sub-" + subscription;
  }

  public List<String> subscriptionNames() {
    return IntStream.range(0, users.subscriptionsPerTopic())
        .mapToObj(this::subscriptionName)
        .toList();
  }

  /** What this worker does of the trial. */
  public Share share() {
    return isShared() ? variant.share() : Share.WHOLE;
  }

  /** Whether the trial's topics are created, and deleted, by several workers. */
  public boolean isShared() {
    return variant.share() != null;
  }

  private static void require(boolean good, String message) {
    if (!good) {
      throw new IllegalArgumentException(message);
    }
  }
}
