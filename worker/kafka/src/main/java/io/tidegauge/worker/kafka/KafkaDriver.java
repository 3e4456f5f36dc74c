package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.Reach;
import io.tidegauge.worker.api.TopicSpec;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;

/**
 * A Kafka cluster. Every producer and consumer is a client of its own, with its own connections, as
 * Kafka has it.
 */
final class KafkaDriver implements Driver {
  private static final Duration ADMIN_CLOSE_TIMEOUT = Duration.ofSeconds(2);

  private final Connection connection;
  private final Reach reach;
  private final Set<EffectiveSetting> clientSettings = new LinkedHashSet<>();

  /** Members of each group made so far, and the groups that read each topic. */
  private final Map<String, Integer> membersByGroup = new HashMap<>();

  private final Map<String, Set<String>> groupsByTopic = new HashMap<>();
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
    new Topics(admin(), connection.timeoutMs()).create(topics);
  }

  @Override
  public void deleteTopics(List<String> names) throws DriverException {
    Topics topics = new Topics(admin(), connection.timeoutMs());
    Set<String> groups = new HashSet<>();
    List<String> foreign = new ArrayList<>();
    for (String name : names) {
      Set<String> own = groupsByTopic.get(name);
      if (own == null) {
        foreign.add(name);
      } else {
        groups.addAll(own);
      }
    }
    if (!foreign.isEmpty()) {
      groups.addAll(topics.groupsOf(foreign));
    }
    topics.delete(names, groups);
    names.forEach(groupsByTopic::remove);
    membersByGroup.keySet().removeAll(groups);
  }

  @Override
  public List<EffectiveSetting> describe(List<String> topics) throws DriverException {
    return new Description(admin(), connection.timeoutMs()).read(topics);
  }

  @Override
  public DriverException explain(String what, Throwable failure) {
    return Failures.describe(what, failure);
  }

  @Override
  public MessageProducer createProducer(ProducerSpec spec) throws DriverException {
    Map<String, Object> settings = ClientSettings.producer(connection, spec);
    reach.check(connection.servers());
    KafkaProducer<InFlight, InFlight> client = null;
    try {
      client = new KafkaProducer<>(settings);
      // Fetches the topic's metadata now, so that the first message does not wait for it.
      client.partitionsFor(spec.topic());
      EffectiveSettings.of(
          "producer", new ProducerConfig(settings), ProducerConfig.configDef(), clientSettings);
      return new TopicProducer(client, spec.topic());
    } catch (KafkaException e) {
      if (client != null) {
        client.close(Duration.ZERO);
      }
      throw Failures.describe("create a producer for " + spec.topic(), e);
    }
  }

  @Override
  public MessageConsumer createConsumer(ConsumerSpec spec, MessageSink sink)
      throws DriverException {
    Map<String, Object> settings = ClientSettings.consumer(connection, spec);
    reach.check(connection.servers());
    String group = ClientSettings.groupId(spec);
    int members = membersByGroup.merge(group, 1, Integer::sum);
    groupsByTopic.computeIfAbsent(spec.topic(), topic -> new HashSet<>()).add(group);
    GroupConsumer consumer;
    try {
      KafkaConsumer<ByteBuffer, ByteBuffer> client = new KafkaConsumer<>(settings);
      consumer = new GroupConsumer(client, spec, sink, members <= spec.partitions());
      EffectiveSettings.of(
          "consumer", new ConsumerConfig(settings), ConsumerConfig.configDef(), clientSettings);
    } catch (KafkaException e) {
      throw Failures.describe("create a consumer for " + spec.topic(), e);
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
    return List.copyOf(clientSettings);
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
