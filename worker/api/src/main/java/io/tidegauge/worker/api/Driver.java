package io.tidegauge.worker.api;

import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * One messaging system as the engine sees it. Methods of this interface are called from one thread
 * at a time; producers and consumers that it made are used by others meanwhile.
 */
public interface Driver extends AutoCloseable {
  /** Begins the value of a setting that {@link #describe} may not read; what it is follows. */
  String UNKNOWN_NO_RIGHT = "unknown: no right to read ";

  /** Creates the topics and returns when every partition can be written to. */
  void createTopics(List<TopicSpec> topics) throws DriverException;

  /**
   * Creates some of the topics of a trial; other workers create the others, perhaps at the same
   * time. Where a topic is placed does not depend on who creates it.
   *
   * @param all topics of the trial
   * @param mine by place in the list, whether to create it
   */
  default void createTopics(List<TopicSpec> all, IntPredicate mine) throws DriverException {
    createTopics(IntStream.range(0, all.size()).filter(mine).mapToObj(all::get).toList());
  }

  /**
   * Takes up topics that workers of this trial have created with {@link #createTopics}, perhaps
   * none of them this one.
   *
   * @param subscriptions names of the subscriptions that each topic will have, whichever worker
   *     their consumers are in
   */
  default void shareTopics(List<TopicSpec> topics, List<String> subscriptions)
      throws DriverException {}

  /**
   * Fixes where a subscription begins on a topic of others, before any worker makes a consumer of
   * it; for systems that can't leave this to the consumers.
   *
   * @param first a consumer of the subscription
   */
  default void beginSubscription(ConsumerSpec first) throws DriverException {}

  /**
   * Says how many clients will be asked for in this process, before the first of them: drivers
   * whose clients can serve many producers, or many consumers, share them where there are too many.
   *
   * @param subscriptions of each topic; consumers are of all of them together
   */
  default void expect(int producers, int consumers, int subscriptions) {}

  /** Is given how far {@link #createTopics} has come, from its thread. */
  default void report(Progress progress) {}

  /**
   * Takes up topics that others made and keep: they are never created nor deleted.
   *
   * @return the number of partitions of each
   * @throws DriverException if one does not exist
   */
  default List<Integer> openTopics(List<String> names) throws DriverException {
    throw new DriverException("this driver can't use topics that exist already");
  }

  /**
   * Removes subscriptions (groups, queues) from topics that stay, whichever process made them.
   *
   * @param prefix what the names begin with that the engine gave to the trial's subscriptions
   */
  default void removeSubscriptions(List<String> topics, String prefix) throws DriverException {
    throw new DriverException("this driver can't use topics that exist already");
  }

  /**
   * Deletes the topics with all that belongs to them (subscriptions, groups, queues), also those
   * that another process made; those that do not exist are no error.
   */
  void deleteTopics(List<String> names) throws DriverException;

  /**
   * Settings in force in the running system: its brokers and the named topics. Read from it, never
   * from what we wrote. What the user has no right to read is a setting whose value begins with
   * {@link #UNKNOWN_NO_RIGHT}.
   */
  List<EffectiveSetting> describe(List<String> topics) throws DriverException;

  /**
   * Reads every partition of a topic, from its very beginning or from where the spec says, to its
   * end as known when reading begins, through the official client, and changes nothing by that:
   * whoever reads again finds the same.
   *
   * @return how far each partition was read, in their order; what the deadline cut short is
   *     reported there
   * @throws DriverException if reading could not even begin
   */
  default List<PartitionRead> readBack(ReadBackSpec spec, ReadBackSink sink)
      throws DriverException, InterruptedException {
    throw new DriverException("this driver can't read topics back");
  }

  /**
   * Which partitions of a topic that was there the servers have no more, by their own word, with
   * all that was in them: somebody deleted them. That one can't be reached, or read, is none.
   *
   * @return how they say so, by partition
   */
  default Map<Integer, String> gone(ReadBackSpec spec) throws DriverException {
    return Map.of();
  }

  /**
   * Why a message that consumers with such options did not receive may be in no copy of the topic
   * although the system kept all that it promised; empty if it may not.
   */
  default String forgets(TopicSpec topic, ClientOptions options) throws DriverException {
    return "";
  }

  /**
   * As {@link #readBack}, of one node's own copy, for systems that let clients choose. Changes no
   * message, but may change which node serves the topic. That a copy is not available before the
   * deadline is reported with its partitions.
   *
   * @param node its number, from 1
   */
  default List<PartitionRead> readReplica(ReadBackSpec spec, int node, ReadBackSink sink)
      throws DriverException, InterruptedException {
    throw new DriverException("this driver can't choose whose copy of a topic is read");
  }

  /**
   * How far subscriptions of a topic have come, as the servers say; those without a position are
   * left out. A system that keeps no positions has none to report.
   */
  default List<CommittedPosition> committedPositions(TopicSpec topic, List<String> subscriptions)
      throws DriverException {
    return List.of();
  }

  /** What a failure of one of its clients means, in the words of this driver's other failures. */
  default DriverException explain(String what, Throwable failure) {
    return new DriverException("could not " + what + ": " + failure.getMessage(), failure);
  }

  MessageProducer createProducer(ProducerSpec spec) throws DriverException;

  /** The consumer begins to deliver to the sink at once, unless {@code spec.startPaused()}. */
  MessageConsumer createConsumer(ConsumerSpec spec, MessageSink sink) throws DriverException;

  /** What the clients made so far were really given: scopes "producer" and "consumer". */
  List<EffectiveSetting> clientSettings();

  /**
   * True if the client keeps a reference to the value array until its acknowledgement; the engine
   * then gives every message in flight an array of its own. False if {@link MessageProducer#send}
   * has copied it on return.
   */
  boolean retainsValue();

  /**
   * False if {@link MessageProducer#send}, without compression and settings of the user's own, only
   * hands the message over, whatever server and network do; several producers may then share a
   * thread. True if it may wait, for a socket or a server, and would hold up the others.
   */
  default boolean sendsMayBlock() {
    return true;
  }

  @Override
  void close();
}
