package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.CommittedPosition;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.PartitionRead;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.Progress;
import io.tidegauge.worker.api.ReadBackSink;
import io.tidegauge.worker.api.ReadBackSpec;
import io.tidegauge.worker.api.SettingsException.Role;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.drivers.Reach;
import io.tidegauge.worker.drivers.SharedClients;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import org.apache.pulsar.client.api.BatcherBuilder;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerBuilder;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.PulsarClientSharedResources;
import org.apache.pulsar.client.impl.conf.ClientConfigurationData;
import org.apache.pulsar.client.impl.conf.ConsumerConfigurationData;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;

/**
 * A Pulsar cluster. Every producer and consumer has a client of its own, and so connections of its
 * own, as the applications have that they stand for; the clients share their threads. Where there
 * are very many, they share clients.
 */
final class PulsarDriver implements Driver {
  private static final long CLOSE_TIMEOUT_MS = 5_000;
  private static final ClientOptions ADMIN_OPTIONS =
      new ClientOptions(0, 0, "none", 1, 1, 1, "all", 1, Map.of(), Map.of(), 0);

  private final Connection connection;
  private final AdminRest rest;
  private final Reach reach;
  private final Set<EffectiveSetting> clientSettings = new LinkedHashSet<>();
  private final SharedClients<PulsarClient> producers = new SharedClients<>();
  private final SharedClients<Reading> consumers = new SharedClients<>();
  private final Discards discards = new Discards();
  private PulsarClientSharedResources threads;
  private Progress progress = Progress.NONE;

  PulsarDriver(Connection connection) {
    this.connection = connection;
    this.rest = new AdminRest(connection);
    this.reach = connection.reach();
  }

  @Override
  public void createTopics(List<TopicSpec> topics) throws DriverException {
    createTopics(topics, topic -> true);
  }

  @Override
  public void createTopics(List<TopicSpec> all, IntPredicate mine) throws DriverException {
    PulsarClient client = newClient(ADMIN_OPTIONS);
    try {
      new Topics(rest, connection, progress).create(all, mine, client);
    } finally {
      Closing.quietly(client.closeAsync(), CLOSE_TIMEOUT_MS);
    }
  }

  @Override
  public void report(Progress to) {
    progress = to;
  }

  /** A subscription's consumers share among themselves: a pause holds the thread of all of them. */
  @Override
  public void expect(int producerCount, int consumerCount, int subscriptions) {
    producers.expect(producerCount, 1);
    consumers.expect(consumerCount, subscriptions);
  }

  @Override
  public List<Integer> openTopics(List<String> names) throws DriverException {
    return new Topics(rest, connection, progress).partitionsOf(names);
  }

  @Override
  public void removeSubscriptions(List<String> topics, String prefix) throws DriverException {
    for (String topic : topics) {
      new Topics(rest, connection, progress).unsubscribe(topic, prefix);
    }
  }

  @Override
  public void deleteTopics(List<String> names) throws DriverException {
    new Topics(rest, connection, progress).delete(names);
  }

  @Override
  public List<EffectiveSetting> describe(List<String> topics) throws DriverException {
    // Its address is the one that users know; the admin API's may follow from it.
    reach.check(connection.servers());
    return new Description(rest, connection).read(topics);
  }

  @Override
  public List<PartitionRead> readBack(ReadBackSpec spec, ReadBackSink sink) throws DriverException {
    List<PartitionRead> all = new ArrayList<>();
    PulsarClient client = newClient(ADMIN_OPTIONS);
    try {
      for (String name : partitionNames(spec.topic(), spec.partitions())) {
        all.add(
            new WholePartition(spec, all.size(), sink, discards)
                .read(client, new Entries(rest), name));
      }
    } finally {
      Closing.quietly(client.closeAsync(), CLOSE_TIMEOUT_MS);
    }
    return all;
  }

  @Override
  public Map<Integer, String> gone(ReadBackSpec spec) throws DriverException {
    boolean exists = new Topics(rest, connection, progress).exists(spec.topic(), spec.partitions());
    return exists ? Map.of() : spec.each("Pulsar has no topic " + spec.topic() + " any more");
  }

  /** Full names of a topic's partitions; one with a single partition may be partitioned or not. */
  private List<String> partitionNames(String topic, int partitions) throws DriverException {
    int made =
        partitions > 1 ? partitions : new Topics(rest, connection, progress).partitions(topic);
    return Topics.partitionNames(connection.fullName(topic), made);
  }

  @Override
  public List<CommittedPosition> committedPositions(TopicSpec topic, List<String> subscriptions)
      throws DriverException {
    List<CommittedPosition> all = new ArrayList<>();
    int partition = 0;
    for (String name : partitionNames(topic.name(), topic.partitions())) {
      all.addAll(new Cursors(rest).positions(name, partition++, subscriptions));
    }
    return all;
  }

  @Override
  public DriverException explain(String what, Throwable failure) {
    return Failures.describe(what, failure);
  }

  @Override
  public MessageProducer createProducer(ProducerSpec spec) throws DriverException {
    Map<String, Object> settings = ClientSettings.producer(spec);
    ProducerConfigurationData standard = new ProducerConfigurationData();
    ProducerConfigurationData effective =
        ClientSettings.load(Role.PRODUCER, settings, standard, ProducerConfigurationData.class);
    SharedClients.Hold<PulsarClient> held = producers.take("", () -> newClient(spec.options()));
    try {
      ProducerBuilder<byte[]> builder =
          held.client().newProducer().loadConf(settings).topic(connection.fullName(spec.topic()));
      if (spec.batchByKey()) {
        // A broker hands a batch over whole: one of several keys could go to one consumer only.
        builder.batcherBuilder(BatcherBuilder.KEY_BASED);
      }
      Producer<byte[]> producer =
          Failures.awaitNew(
              Role.PRODUCER,
              builder::createAsync,
              "create a producer for " + spec.topic(),
              2L * Connection.TIMEOUT_MS);
      rememberClient(spec.options());
      EffectiveSettings.of("producer", effective, standard, clientSettings);
      if (spec.batchByKey()) {
        clientSettings.add(new EffectiveSetting("producer", "batcherBuilder", "KEY_BASED", false));
      }
      return new TopicProducer(held, producer);
    } catch (DriverException e) {
      Closing.quietly(TopicProducer.release(held), CLOSE_TIMEOUT_MS);
      throw e;
    }
  }

  @Override
  public MessageConsumer createConsumer(ConsumerSpec spec, MessageSink sink)
      throws DriverException {
    Map<String, Object> settings = ClientSettings.consumer(spec);
    ConsumerConfigurationData<byte[]> standard = new ConsumerConfigurationData<>();
    ConsumerConfigurationData<?> effective =
        ClientSettings.load(Role.CONSUMER, settings, standard, ConsumerConfigurationData.class);
    SharedClients.Hold<Reading> held =
        consumers.take(
            spec.subscription(), () -> Reading.with(newClient(spec.options()), spec.clientId()));
    ConsumerBuilder<byte[]> builder =
        held.client()
            .client()
            .newConsumer()
            .loadConf(settings)
            .subscriptionName(spec.subscription())
            .consumerName(spec.clientId())
            .startPaused(spec.startPaused());
    watchDiscards(spec, sink);
    MessageConsumer consumer =
        spec.partitions() == 1 && !consumers.areShared()
            ? readOne(held, builder, spec, sink)
            : readAll(held, builder, spec, sink);
    rememberClient(spec.options());
    EffectiveSettings.of("consumer", effective, standard, clientSettings);
    return consumer;
  }

  private void watchDiscards(ConsumerSpec spec, MessageSink sink) throws DriverException {
    long messagesMax = ClientSettings.entryMessagesMax(spec.options());
    String fullName = connection.fullName(spec.topic());
    List<String> names = new ArrayList<>(Topics.partitionNames(fullName, spec.partitions()));
    // A topic with a single partition may be partitioned or not, and consumers need not know.
    names.add(fullName);
    for (String name : names) {
      discards.watch(
          name,
          spec.subscription(),
          entry ->
              sink.discarded(
                  messagesMax,
                  new IOException("Pulsar's client discarded an entry that came damaged")));
    }
  }

  private MessageConsumer readOne(
      SharedClients.Hold<Reading> held,
      ConsumerBuilder<byte[]> builder,
      ConsumerSpec spec,
      MessageSink sink)
      throws DriverException {
    try {
      Consumer<byte[]> consumer =
          Failures.awaitNew(
              Role.CONSUMER,
              builder.topic(connection.fullName(spec.topic()))::subscribeAsync,
              "subscribe to " + spec.topic(),
              2L * Connection.TIMEOUT_MS);
      Delivery delivery = new Delivery(sink, spec.topicIndex(), 0);
      TopicConsumer reader =
          new TopicConsumer(held, consumer, sink, delivery, spec.startPaused(), spec.clientId());
      reader.start();
      return reader;
    } catch (DriverException e) {
      Closing.quietly(Reading.release(held), CLOSE_TIMEOUT_MS);
      throw e;
    }
  }

  private MessageConsumer readAll(
      SharedClients.Hold<Reading> held,
      ConsumerBuilder<byte[]> builder,
      ConsumerSpec spec,
      MessageSink sink)
      throws DriverException {
    PartitionsConsumer reader = new PartitionsConsumer(held, spec, progress);
    try {
      reader.start(builder, connection.fullName(spec.topic()), spec, sink);
      return reader;
    } catch (DriverException e) {
      reader.close();
      throw e;
    }
  }

  private PulsarClient newClient(ClientOptions options) throws DriverException {
    reach.check(connection.servers());
    try {
      if (threads == null) {
        threads = sharedThreads();
      }
      return PulsarClient.builder()
          .loadConf(ClientSettings.client(connection, options))
          .sharedResources(threads)
          .build();
    } catch (PulsarClientException | RuntimeException e) {
      throw Failures.describe(
          "use the connection settings", e.getCause() == null ? e : e.getCause());
    }
  }

  private PulsarClientSharedResources sharedThreads() throws DriverException {
    ClientConfigurationData settings = effectiveClient(ADMIN_OPTIONS);
    return PulsarClientSharedResources.builder()
        .configureEventLoop(
            loop ->
                loop.numberOfThreads(settings.getNumIoThreads())
                    .daemon(true)
                    .enableBusyWait(settings.isEnableBusyWait()))
        .configureThreadPool(
            PulsarClientSharedResources.SharedResource.ListenerExecutor,
            pool -> pool.numberOfThreads(settings.getNumListenerThreads()).daemon(true))
        .build();
  }

  private ClientConfigurationData effectiveClient(ClientOptions options) throws DriverException {
    return ClientSettings.loadClient(ClientSettings.client(connection, options));
  }

  private void rememberClient(ClientOptions options) throws DriverException {
    EffectiveSettings.of(
        "client", effectiveClient(options), new ClientConfigurationData(), clientSettings);
  }

  @Override
  public List<EffectiveSetting> clientSettings() {
    List<EffectiveSetting> all = new ArrayList<>(clientSettings);
    producers.disclosed("producer").ifPresent(all::add);
    consumers.disclosed("consumer").ifPresent(all::add);
    return List.copyOf(all);
  }

  /** False: a send queues the message for the client's own threads. */
  @Override
  public boolean sendsMayBlock() {
    return false;
  }

  /**
   * True: the client keeps a reference to the array. With batching until the batch is written out,
   * which happens on another thread; without until the acknowledgement, since it may have to send
   * the message again.
   */
  @Override
  public boolean retainsValue() {
    return true;
  }

  @Override
  public void close() {
    discards.close();
    rest.close();
    if (threads != null) {
      try {
        threads.close();
      } catch (PulsarClientException e) {
        // Only daemon threads are left, which hold nothing.
      }
    }
  }
}
