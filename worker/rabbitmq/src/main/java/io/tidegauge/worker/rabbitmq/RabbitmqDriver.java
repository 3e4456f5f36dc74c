package io.tidegauge.worker.rabbitmq;

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
import io.tidegauge.worker.api.Place;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.Progress;
import io.tidegauge.worker.api.ReadBackSink;
import io.tidegauge.worker.api.ReadBackSpec;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.api.Threads;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.drivers.SharedClients;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * A RabbitMQ node or cluster. Every producer and consumer has connections of its own; where there
 * are very many, they share connections, with a channel each.
 */
final class RabbitmqDriver implements Driver {
  private final Connection connection;
  private final AdminLink admin;
  private final Management management;
  private final Topology topology;
  private final StreamClients streams;
  private final Map<String, Topic> topics = new HashMap<>();

  /**
   * Queues of further subscriptions that workers of a trial declare as they make consumers: of each
   * subscription and topic the first queue's name, and the node that is to lead it.
   */
  private final Map<String, Long> undeclared = new HashMap<>();

  private final Set<EffectiveSetting> clientSettings = new LinkedHashSet<>();
  private final ScheduledExecutorService keeper;
  private final AckRounds rounds;
  private final SharedClients<AmqpConnection> producers = new SharedClients<>();
  private final SharedClients<AmqpConnection> consumers = new SharedClients<>();
  private Progress progress = Progress.NONE;
  private int clients;

  RabbitmqDriver(Connection connection) {
    this.connection = connection;
    this.admin = new AdminLink(connection);
    this.management = new Management(connection);
    this.topology = new Topology(connection, admin, management);
    this.streams = new StreamClients(connection);
    this.keeper = Executors.newSingleThreadScheduledExecutor(Threads.named("rabbitmq-keeper"));
    this.rounds = new AckRounds(keeper);
  }

  @Override
  public void createTopics(List<TopicSpec> specs) throws DriverException {
    createTopics(specs, topic -> true);
  }

  @Override
  public void createTopics(List<TopicSpec> all, IntPredicate mine) throws DriverException {
    topology.requireNodes();
    int count = (int) IntStream.range(0, all.size()).filter(mine).count();
    int made = 0;
    long firstQueue = 0;
    for (int t = 0; t < all.size(); t++) {
      TopicSpec spec = all.get(t);
      if (mine.test(t)) {
        TopicSettings settings = TopicSettings.of(spec, connection.queueType());
        requireStreamFailover(spec.type(), settings);
        topics.put(spec.name(), new Topic(spec.name(), spec.partitions(), settings));
        topology.turnTo(firstQueue);
        topology.create(spec, settings);
        progress.at("topics", ++made, count);
      }
      firstQueue += spec.partitions();
    }
  }

  @Override
  public void report(Progress to) {
    progress = to;
  }

  @Override
  public void expect(int producerCount, int consumerCount, int subscriptions) {
    producers.expect(producerCount, 1);
    consumers.expect(consumerCount, subscriptions);
    streams.expect(producerCount, consumerCount, subscriptions);
  }

  /** A queue's name and leader follow from its subscription's place: every worker must know all. */
  @Override
  public void shareTopics(List<TopicSpec> all, List<String> subscriptions) throws DriverException {
    long partitions = all.stream().mapToLong(TopicSpec::partitions).sum();
    long before = 0;
    for (TopicSpec spec : all) {
      if (!topics.containsKey(spec.name())) {
        TopicSettings settings = TopicSettings.of(spec, connection.queueType());
        topics.put(spec.name(), new Topic(spec.name(), spec.partitions(), settings));
      }
      for (int s = 0; s < subscriptions.size(); s++) {
        Topic topic = topics.get(spec.name());
        topic.subscribe(subscriptions.get(s));
        if (topic.hasOwnQueues(subscriptions.get(s))) {
          String first = topic.queueOf(0, subscriptions.get(s));
          undeclared.put(first, partitions * s + before);
        }
      }
      before += spec.partitions();
    }
  }

  /** Streams have a single active consumer since 3.11. */
  private void requireStreamFailover(SubscriptionType type, TopicSettings settings)
      throws DriverException {
    boolean wanted = type == SubscriptionType.FAILOVER && settings.type() == QueueType.STREAM;
    if (wanted && admin.serverVersion().matches("3\\.([0-9]|10)\\..*")) {
      throw type.lacking(
          "RabbitMQ " + admin.serverVersion() + "'s stream",
          "it has a single active consumer from 3.11 on");
    }
  }

  @Override
  public List<Integer> openTopics(List<String> names) throws DriverException {
    List<Integer> partitions = new ArrayList<>();
    for (String name : names) {
      Topic topic = new ExistingTopics(connection, admin, management).open(name);
      topics.put(name, topic);
      partitions.add(topic.partitions);
    }
    return partitions;
  }

  /** None are made: the one subscription of a queue is the queue, and streams keep none for us. */
  @Override
  public void removeSubscriptions(List<String> names, String prefix) {
    names.forEach(topics::remove);
  }

  @Override
  public void deleteTopics(List<String> names) throws DriverException {
    for (String name : names) {
      Topic known = topics.remove(name);
      topology.delete(name, known == null ? Set.of() : known.queues());
    }
  }

  @Override
  public List<EffectiveSetting> describe(List<String> names) throws DriverException {
    // Its address is the one that users know; the management API's may follow from it.
    admin.serverProperties();
    return new Description(admin, management).read(names);
  }

  @Override
  public List<PartitionRead> readBack(ReadBackSpec spec, ReadBackSink sink)
      throws DriverException, InterruptedException {
    Topic topic = layoutOf(new TopicSpec(spec.topic(), spec.partitions(), 1, spec.settings()));
    ReadBack reading = new ReadBack(connection, streams);
    return topic.settings.type() == QueueType.STREAM
        ? reading.streams(spec, topic, sink)
        : reading.queues(spec, topic, sink);
  }

  @Override
  public Map<Integer, String> gone(ReadBackSpec spec) throws DriverException {
    QueueSearch search = new QueueSearch(admin);
    if (spec.existing() && !search.isUnknown(spec.topic())) {
      return Map.of();
    }
    TopicSpec topic = new TopicSpec(spec.topic(), spec.partitions(), 1, spec.settings());
    boolean all = spec.first() || isStream(topic);
    Map<Integer, String> gone = new HashMap<>();
    for (int partition = 0; partition < spec.partitions(); partition++) {
      String queue = Topology.queue(spec.topic(), partition, all ? "" : spec.subscription());
      if (search.isUnknown(queue)) {
        // Which of the two layouts a topic of others had can't be seen any more.
        String names = spec.existing() ? spec.topic() + ", nor a queue " + queue : queue;
        gone.put(partition, "RabbitMQ has no queue " + names + " any more");
      }
    }
    return gone;
  }

  /** A queue forgets a message once it is acknowledged: with automatic ones, as it is sent. */
  @Override
  public String forgets(TopicSpec topic, ClientOptions options) throws DriverException {
    return !isStream(topic) && ConsumerOptions.of(options).autoAck()
        ? "with autoAck a queue forgets a message as it sends it"
        : "";
  }

  @Override
  public List<PartitionRead> readReplica(ReadBackSpec spec, int node, ReadBackSink sink)
      throws DriverException, InterruptedException {
    TopicSpec topic = new TopicSpec(spec.topic(), spec.partitions(), 1, spec.settings());
    if (!isStream(topic)) {
      throw new DriverException(
          "RabbitMQ's queues are read from their leaders: only streams choose");
    }
    return new ReadBack(connection, streams).replica(spec, node, sink);
  }

  @Override
  public List<CommittedPosition> committedPositions(TopicSpec topic, List<String> subscriptions)
      throws DriverException {
    Topic layout = layoutOf(topic);
    return layout.settings.type() == QueueType.STREAM
        ? new ReadBack(connection, streams).positions(layout, subscriptions)
        : List.of();
  }

  private boolean isStream(TopicSpec topic) throws DriverException {
    return layoutOf(topic).settings.type() == QueueType.STREAM;
  }

  /** How a topic is laid out: one of others as it was when it was opened. */
  private Topic layoutOf(TopicSpec spec) throws DriverException {
    Topic opened = topics.get(spec.name());
    return opened != null && opened.existing
        ? opened
        : new Topic(spec.name(), spec.partitions(), TopicSettings.of(spec, connection.queueType()));
  }

  @Override
  public DriverException explain(String what, Throwable failure) {
    return Failures.describe(what, failure);
  }

  @Override
  public MessageProducer createProducer(ProducerSpec spec) throws DriverException {
    Topic topic = topic(spec.topic(), spec.partitions());
    int number = number(spec.place());
    if (topic.settings.type() == QueueType.STREAM) {
      StreamOptions options = StreamOptions.of(spec.options());
      IntFunction<String> streamOf = topic::queue;
      StreamProducer producer =
          new StreamProducer(streams, spec, number, options, streamOf, !retainsValue());
      clientSettings.addAll(options.disclosedProducer());
      return producer;
    }
    ProducerOptions options = ProducerOptions.of(spec.options());
    SharedClients.Hold<AmqpConnection> held =
        producers.take("", () -> new AmqpConnection(connection, number, spec.clientId()));
    QueueProducer producer =
        new QueueProducer(connection, topic, spec, held, number, options, keeper);
    producer.open();
    clientSettings.addAll(options.disclosed(topic.settings.persistent(), producers.usersEach()));
    return producer;
  }

  @Override
  public MessageConsumer createConsumer(ConsumerSpec spec, MessageSink sink)
      throws DriverException {
    Topic topic = topic(spec.topic(), spec.partitions());
    if (topic.existing) {
      TopicSettings.refuseLacking(spec.type(), topic.settings.type());
    }
    String subscription = spec.subscription();
    boolean declare = !topic.isKnown(subscription) && topic.subscribe(subscription);
    Long node = undeclared.remove(topic.queueOf(0, subscription));
    if (node != null) {
      topology.turnTo(node);
    }
    if (declare || node != null) {
      topology.declareQueues(topic.name, topic.partitions, subscription, topic.settings);
    }
    IntFunction<String> queueOf = partition -> topic.queueOf(partition, subscription);
    PartitionedConsumer consumer;
    if (topic.settings.type() == QueueType.STREAM) {
      StreamOptions options = StreamOptions.of(spec.options());
      consumer = new StreamConsumer(streams, spec, options, queueOf, sink, topic.existing);
      clientSettings.addAll(options.disclosedConsumer());
    } else {
      ConsumerOptions options = ConsumerOptions.of(spec.options());
      int number = number(spec.place());
      SharedClients.Hold<AmqpConnection> held =
          consumers.take(
              subscription, () -> new AmqpConnection(connection, number, spec.clientId()));
      QueueConsumer reader =
          new QueueConsumer(connection, spec, held, options, queueOf, sink, keeper, rounds);
      reader.open();
      consumer = reader;
      clientSettings.addAll(options.disclosed(topic.partitions, consumers.usersEach()));
    }
    try {
      topic.join(subscription, consumer, spec.type(), spec.place());
      return consumer;
    } catch (DriverException e) {
      consumer.close();
      throw e;
    }
  }

  /** Which node a client begins with, and which partition. */
  private int number(Place place) {
    return place == null ? clients++ : place.client();
  }

  /** A topic that this driver did not create is taken to be as the connection says. */
  private Topic topic(String name, int partitions) throws DriverException {
    Topic known = topics.get(name);
    if (known == null) {
      TopicSpec spec = new TopicSpec(name, partitions, connection.nodes(), Map.of());
      known = new Topic(name, partitions, TopicSettings.of(spec, connection.queueType()));
      topics.put(name, known);
    }
    return known;
  }

  @Override
  public List<EffectiveSetting> clientSettings() {
    List<EffectiveSetting> all = new ArrayList<>(clientSettings);
    producers.disclosed("producer").ifPresent(all::add);
    consumers.disclosed("consumer").ifPresent(all::add);
    return List.copyOf(all);
  }

  /**
   * The stream client keeps the array until the message is confirmed: its codec only adds a header
   * to it. The AMQP client writes the frames to the socket's stream within basicPublish. Asked
   * before topics are known, this goes by the connection's queue type; a topic of streams on
   * another connection copies each value.
   */
  @Override
  public boolean retainsValue() {
    return connection.queueType() == QueueType.STREAM;
  }

  @Override
  public void close() {
    keeper.shutdownNow();
    admin.close();
    streams.close();
  }
}
