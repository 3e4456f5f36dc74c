package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.CommittedPosition;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.PartitionRead;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.Progress;
import io.tidegauge.worker.api.ReadBackSink;
import io.tidegauge.worker.api.ReadBackSpec;
import io.tidegauge.worker.api.SettingsException.Role;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.drivers.Reach;
import io.tidegauge.worker.drivers.SharedClients;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.AbstractConfig;

/**
 * A Kafka cluster. Every producer and consumer is a client of its own, with its own connections, as
 * Kafka has it. Where there are very many, producers share clients; consumers can't, since a client
 * is a member of one group, and each topic has groups of its own.
 */
final class KafkaDriver implements Driver {
  private static final Duration ADMIN_CLOSE_TIMEOUT = Duration.ofSeconds(2);

  private final Connection connection;
  private final Reach reach;
  private final Set<EffectiveSetting> clientSettings = new LinkedHashSet<>();

  private final GroupsOfTopics joined = new GroupsOfTopics();
  private final Set<String> sharedTopics = new HashSet<>();
  private final SharedClients<KafkaProducer<InFlight, InFlight>> producers = new SharedClients<>();
  private Progress progress = Progress.NONE;
  private Admin admin;

  KafkaDriver(Connection connection) {
    this.connection = connection;
    this.reach = connection.reach();
  }

  private Admin admin() throws DriverException {
    if (admin == null) {
      reach.check(connection.servers());
      try {
        admin = Admin.create(connection.adminSettings());
      } catch (KafkaException e) {
        throw Failures.describe("accept the connection settings", e);
      }
    }
    return admin;
  }

  @Override
  public void createTopics(List<TopicSpec> topics) throws DriverException {
    createTopics(topics, topic -> true);
  }

  @Override
  public void createTopics(List<TopicSpec> all, IntPredicate mine) throws DriverException {
    new Topics(admin(), connection.timeoutMs(), progress).create(all, mine);
  }

  /** Groups are made by consumers, some of which are in other workers. */
  @Override
  public void shareTopics(List<TopicSpec> topics, List<String> subscriptions) {
    topics.forEach(topic -> sharedTopics.add(topic.name()));
  }

  @Override
  public void expect(int producerCount, int consumerCount, int subscriptions) {
    producers.expect(producerCount, 1);
  }

  @Override
  public void beginSubscription(ConsumerSpec first) throws DriverException {
    if (first.fromEnd() && first.type() != SubscriptionType.SHARED) {
      String group = ClientSettings.groupId(first);
      new Groups(admin(), connection.timeoutMs()).beginAtEnd(group, first);
    }
  }

  @Override
  public void report(Progress to) {
    progress = to;
  }

  @Override
  public List<Integer> openTopics(List<String> names) throws DriverException {
    return new Topics(admin(), connection.timeoutMs(), progress).partitionsOf(names);
  }

  @Override
  public void removeSubscriptions(List<String> topics, String prefix) throws DriverException {
    Groups groups = new Groups(admin(), connection.timeoutMs());
    GroupsOfTopics.ByKind all = joined.groupsOf(topics);
    groups.find(
        group -> topics.stream().anyMatch(topic -> group.startsWith(topic + "-" + prefix)), all);
    groups.delete(all.ordinary);
    new ShareGroups(admin(), connection.timeoutMs()).delete(all.share);
    joined.forget(topics, all);
  }

  @Override
  public void deleteTopics(List<String> names) throws DriverException {
    Groups groups = new Groups(admin(), connection.timeoutMs());
    GroupsOfTopics.ByKind all = joined.groupsOf(names);
    List<String> foreign =
        names.stream()
            .filter(name -> !joined.hasGroupOf(name) || sharedTopics.contains(name))
            .toList();
    if (!foreign.isEmpty()) {
      groups.find(
          group -> foreign.stream().anyMatch(topic -> ClientSettings.isGroupOf(topic, group)), all);
    }
    try {
      // Before its topics: a coordinator asked to forget what it holds of a topic that is being
      // deleted at the same time may never answer.
      new ShareGroups(admin(), connection.timeoutMs()).delete(all.share);
    } finally {
      new Topics(admin(), connection.timeoutMs(), progress).delete(names);
      groups.delete(all.ordinary);
    }
    joined.forget(names, all);
  }

  @Override
  public List<EffectiveSetting> describe(List<String> topics) throws DriverException {
    return new Description(admin(), connection.timeoutMs()).read(topics);
  }

  @Override
  public List<PartitionRead> readBack(ReadBackSpec spec, ReadBackSink sink)
      throws DriverException, InterruptedException {
    reach.check(connection.servers());
    return new WholeTopic(connection, spec, sink).read(WholeTopic.ANY_LEADER);
  }

  @Override
  public Map<Integer, String> gone(ReadBackSpec spec) throws DriverException {
    boolean exists = new Topics(admin(), connection.timeoutMs(), progress).exists(spec.topic());
    return exists ? Map.of() : spec.each("Kafka has no topic " + spec.topic() + " any more");
  }

  @Override
  public List<PartitionRead> readReplica(ReadBackSpec spec, int node, ReadBackSink sink)
      throws DriverException, InterruptedException {
    Leadership leadership = new Leadership(admin(), connection.timeoutMs(), spec, node);
    String missing = leadership.take();
    return missing.isEmpty()
        ? new WholeTopic(connection, spec, sink).read(node)
        : spec.unread(missing);
  }

  @Override
  public List<CommittedPosition> committedPositions(TopicSpec topic, List<String> subscriptions)
      throws DriverException {
    Groups groups = new Groups(admin(), connection.timeoutMs());
    return positions(topic.name(), subscriptions, groups::committed);
  }

  /** What a group has committed: an offset by partition. */
  interface Committed {
    Map<Integer, Long> of(String group) throws DriverException;
  }

  static List<CommittedPosition> positions(
      String topic, List<String> subscriptions, Committed committed) throws DriverException {
    List<CommittedPosition> all = new ArrayList<>();
    for (int s = 0; s < subscriptions.size(); s++) {
      int subscription = s;
      committed
          .of(ClientSettings.groupId(topic, subscriptions.get(s)))
          .forEach((p, offset) -> all.add(new CommittedPosition(subscription, p, offset)));
    }
    return all;
  }

  @Override
  public DriverException explain(String what, Throwable failure) {
    return Failures.describe(what, failure);
  }

  @Override
  public MessageProducer createProducer(ProducerSpec spec) throws DriverException {
    SharedClients.Hold<KafkaProducer<InFlight, InFlight>> held =
        producers.take("", () -> producerClient(spec));
    try {
      // Fetches the topic's metadata now, so that the first message does not wait for it.
      held.client().partitionsFor(spec.topic());
      return new TopicProducer(held, spec.topic());
    } catch (KafkaException e) {
      if (held.release()) {
        held.client().close(Duration.ZERO);
      }
      throw Failures.describe("create a producer for " + spec.topic(), e);
    }
  }

  private KafkaProducer<InFlight, InFlight> producerClient(ProducerSpec spec)
      throws DriverException {
    Map<String, Object> settings = ClientSettings.producer(connection, spec, producers.usersEach());
    reach.check(connection.servers());
    try {
      KafkaProducer<InFlight, InFlight> client = new KafkaProducer<>(settings);
      EffectiveSettings.of(
          "producer", new ProducerConfig(settings), ProducerConfig.configDef(), clientSettings);
      return client;
    } catch (KafkaException e) {
      throw Failures.describeNew(Role.PRODUCER, "create a producer for " + spec.topic(), e);
    }
  }

  @Override
  public MessageConsumer createConsumer(ConsumerSpec spec, MessageSink sink)
      throws DriverException {
    refuseLacking(spec.type());
    reach.check(connection.servers());
    String group = ClientSettings.groupId(spec);
    boolean share = spec.type() == SubscriptionType.SHARED;
    int members = joined.join(group, share, spec.topic());
    if (share && members == 1) {
      ShareGroups groups = new ShareGroups(admin(), connection.timeoutMs());
      groups.require();
      groups.begin(group, spec.fromEnd());
    } else if (spec.fromEnd() && members == 1 && spec.place() == null) {
      new Groups(admin(), connection.timeoutMs()).beginAtEnd(group, spec);
    }
    return share ? shareConsumer(group, members, spec, sink) : member(group, members, spec, sink);
  }

  private static void refuseLacking(SubscriptionType type) throws DriverException {
    if (type == SubscriptionType.EXCLUSIVE) {
      throw type.lacking(
          "Kafka", "any consumer may join a group; failover with one consumer comes nearest");
    }
    if (type == SubscriptionType.KEY_SHARED) {
      throw type.lacking(
          "Kafka",
          "a group shares out partitions, not keys; failover keeps the order of each key, since a "
              + "key's messages are in one partition");
    }
  }

  private MessageConsumer shareConsumer(
      String group, int members, ConsumerSpec spec, MessageSink sink) throws DriverException {
    Map<String, Object> settings = ClientSettings.shareConsumer(connection, spec);
    ShareConsumer consumer;
    try {
      consumer = new ShareConsumer(new KafkaShareConsumer<>(settings), spec, sink);
      // Not ConsumerConfig, which refuses settings that only share groups have.
      EffectiveSettings.of(
          "consumer",
          new AbstractConfig(ConsumerConfig.configDef(), settings, false),
          ConsumerConfig.configDef(),
          clientSettings,
          ClientSettings.NOT_OF_SHARE_GROUPS);
    } catch (KafkaException e) {
      throw Failures.describeNew(Role.CONSUMER, "create a consumer for " + spec.topic(), e);
    }
    consumer.start();
    try {
      if (!spec.startPaused()) {
        new ShareGroups(admin(), connection.timeoutMs()).await(group, members, spec);
      }
      return consumer;
    } catch (DriverException e) {
      consumer.close();
      throw e;
    }
  }

  private MessageConsumer member(String group, int members, ConsumerSpec spec, MessageSink sink)
      throws DriverException {
    Map<String, Object> settings = ClientSettings.consumer(connection, spec);
    GroupConsumer consumer;
    try {
      KafkaConsumer<ByteBuffer, ByteBuffer> client = new KafkaConsumer<>(settings);
      int competing = spec.place() == null ? members : spec.place().members();
      consumer = new GroupConsumer(client, spec, sink, competing <= spec.partitions());
      EffectiveSettings.of(
          "consumer", new ConsumerConfig(settings), ConsumerConfig.configDef(), clientSettings);
    } catch (KafkaException e) {
      throw Failures.describeNew(Role.CONSUMER, "create a consumer for " + spec.topic(), e);
    }
    try {
      consumer.start(connection.timeoutMs());
      return consumer;
    } catch (DriverException e) {
      consumer.close();
      throw e;
    }
  }

  @Override
  public List<EffectiveSetting> clientSettings() {
    List<EffectiveSetting> all = new ArrayList<>(clientSettings);
    producers.disclosed("producer").ifPresent(all::add);
    return List.copyOf(all);
  }

  /**
   * False: a send waits for metadata only before the topic's first message, and for buffers only if
   * those in flight don't fit.
   */
  @Override
  public boolean sendsMayBlock() {
    return false;
  }

  /**
   * False: RecordAccumulator.append writes key and value into the batch's buffer before send()
   * returns.
   */
  @Override
  public boolean retainsValue() {
    return false;
  }

  @Override
  public void close() {
    if (admin != null) {
      admin.close(ADMIN_CLOSE_TIMEOUT);
    }
  }
}
