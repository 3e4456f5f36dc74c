package io.tidegauge.worker.nats;

import io.nats.client.ErrorListener;
import io.nats.client.JetStreamApiException;
import io.nats.client.JetStreamManagement;
import io.nats.client.api.ConsumerInfo;
import io.nats.client.api.StreamConfiguration;
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
import io.tidegauge.worker.drivers.Reach;
import io.tidegauge.worker.drivers.SharedClients;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

/**
 * A NATS server or cluster with JetStream. A partition is a stream. Every producer and consumer has
 * a connection of its own; where there are very many, they share connections.
 */
final class NatsDriver implements Driver {
  private static final int RETRY_MS = 200;
  private static final ErrorListener SILENT = new ErrorListener() {};

  private final Connection connection;
  private final Reach reach;
  private final Monitoring monitoring;
  private final Map<String, Topic> topics = new HashMap<>();
  private final Set<EffectiveSetting> clientSettings = new LinkedHashSet<>();
  private final ScheduledExecutorService keeper =
      Executors.newSingleThreadScheduledExecutor(Threads.named("nats-keeper"));
  private final SharedClients<io.nats.client.Connection> producers = new SharedClients<>();
  private final SharedClients<io.nats.client.Connection> consumers = new SharedClients<>();
  private Progress progress = Progress.NONE;
  private io.nats.client.Connection admin;
  private int clients;

  NatsDriver(Connection connection) {
    this.connection = connection;
    this.reach = connection.reach();
    this.monitoring = new Monitoring(connection);
  }

  private io.nats.client.Connection admin() throws DriverException {
    if (admin == null) {
      reach.check(connection.hostsAndPorts());
      admin = connection.open("tg-admin", 0, 0, connection.timeoutMs(), SILENT);
    }
    return admin;
  }

  private JetStreamManagement jetStream() throws DriverException {
    try {
      return admin().jetStreamManagement(connection.calls());
    } catch (IOException e) {
      throw Failures.describe("be reached", e);
    }
  }

  /** A call of JetStream's API. */
  private interface Call<T> {
    T ask(JetStreamManagement jetStream) throws IOException, JetStreamApiException;
  }

  /** Asks again while a cluster that has just begun has no leader, or lacks nodes. */
  private <T> T whenReady(String what, Call<T> call) throws DriverException {
    long untilNs = System.nanoTime() + connection.timeoutMs() * 1_000_000L;
    while (true) {
      try {
        return call.ask(jetStream());
      } catch (IOException | JetStreamApiException | RuntimeException e) {
        if (!Failures.isPassing(e) || System.nanoTime() > untilNs) {
          throw Failures.describe(what, e);
        }
      }
      Failures.pause(RETRY_MS, what);
    }
  }

  @Override
  public void createTopics(List<TopicSpec> specs) throws DriverException {
    int made = 0;
    for (TopicSpec spec : specs) {
      Topic topic = new Topic(spec.name(), spec.partitions());
      topics.put(spec.name(), topic);
      TopicSettings settings = TopicSettings.of(spec);
      for (int partition = 0; partition < spec.partitions(); partition++) {
        StreamConfiguration stream = settings.configuration(topic.stream(partition));
        whenReady("create stream " + stream.getName(), api -> api.addStream(stream));
      }
      progress.at("topics", ++made, specs.size());
    }
  }

  @Override
  public void report(Progress to) {
    progress = to;
  }

  @Override
  public void expect(int producerCount, int consumerCount, int subscriptions) {
    producers.expect(producerCount, 1);
    consumers.expect(consumerCount, 1);
  }

  @Override
  public void beginSubscription(ConsumerSpec first) throws DriverException {
    Topic topic = topic(first.topic(), first.partitions());
    ConsumerOptions options = ConsumerOptions.of(first.options());
    for (int partition = 0; partition < topic.partitions; partition++) {
      String stream = topic.stream(partition);
      whenReady(
          "create a consumer of " + stream,
          api -> api.addOrUpdateConsumer(stream, options.durable(first)));
    }
  }

  /** A topic of others is a stream of its name. */
  @Override
  public List<Integer> openTopics(List<String> names) throws DriverException {
    List<Integer> partitions = new ArrayList<>();
    for (String name : names) {
      StreamConfiguration stream =
          whenReady("open stream " + name, api -> api.getStreamInfo(name)).getConfiguration();
      String subject =
          stream.getSubjects().stream()
              .filter(one -> !one.contains("*") && !one.contains(">"))
              .findFirst()
              .orElseGet(() -> placeIn(stream.getSubjects()));
      topics.put(name, new Topic(name, 1, subject));
      partitions.add(1);
    }
    return partitions;
  }

  /** A subject that the first of these patterns has in it. */
  private static String placeIn(List<String> patterns) {
    String pattern = patterns.isEmpty() ? "tidegauge" : patterns.get(0);
    return pattern.replace("*", "tidegauge").replace(">", "tidegauge");
  }

  @Override
  public void removeSubscriptions(List<String> names, String prefix) throws DriverException {
    for (String name : names) {
      for (String consumer :
          whenReady("list the consumers of " + name, api -> api.getConsumerNames(name))) {
        if (consumer.startsWith(Topic.safe(prefix))) {
          whenReady("remove consumer " + consumer, api -> api.deleteConsumer(name, consumer));
        }
      }
      topics.remove(name);
    }
  }

  @Override
  public void deleteTopics(List<String> names) throws DriverException {
    List<String> streams = null;
    for (String name : names) {
      topics.remove(name);
      if (streams == null) {
        streams = whenReady("list its streams", JetStreamManagement::getStreamNames);
      }
      String prefix = Topic.safe(name) + "-";
      for (String stream : streams) {
        if (stream.startsWith(prefix) && stream.substring(prefix.length()).matches("\\d+")) {
          whenReady("delete stream " + stream, api -> deleteIfThere(api, stream));
        }
      }
    }
  }

  private static boolean deleteIfThere(JetStreamManagement jetStream, String stream)
      throws IOException, JetStreamApiException {
    try {
      return jetStream.deleteStream(stream);
    } catch (JetStreamApiException e) {
      if (Failures.isAbsent(e)) {
        return false;
      }
      throw e;
    }
  }

  @Override
  public List<EffectiveSetting> describe(List<String> names) throws DriverException {
    List<Topic> described = new ArrayList<>();
    List<String> streams =
        names.stream().allMatch(topics::containsKey)
            ? List.of()
            : whenReady("list its streams", JetStreamManagement::getStreamNames);
    for (String name : names) {
      Topic known = topics.get(name);
      described.add(known == null ? new Topic(name, countOf(name, streams)) : known);
    }
    String version = admin().getServerInfo().getVersion();
    return new Description(jetStream(), monitoring).read(version, described);
  }

  /** How many of these streams are partitions of a topic that this driver did not make. */
  private static int countOf(String topic, List<String> streams) {
    int count = 0;
    while (streams.contains(Topic.stream(topic, count))) {
      count++;
    }
    return count;
  }

  @Override
  public List<PartitionRead> readBack(ReadBackSpec spec, ReadBackSink sink)
      throws DriverException, InterruptedException {
    Topic topic = topic(spec.topic(), spec.partitions());
    List<PartitionRead> read = new ArrayList<>();
    for (int partition = 0; partition < spec.partitions(); partition++) {
      read.add(
          spec.gone().contains(partition)
              ? spec.unread(partition, "")
              : new WholeStream(spec, partition, topic.stream(partition), sink)
                  .read(admin(), jetStream()));
    }
    return read;
  }

  @Override
  public Map<Integer, String> gone(ReadBackSpec spec) throws DriverException {
    Topic topic = topic(spec.topic(), spec.partitions());
    List<String> streams = whenReady("list its streams", JetStreamManagement::getStreamNames);
    Map<Integer, String> gone = new HashMap<>();
    for (int partition = 0; partition < spec.partitions(); partition++) {
      String stream = topic.stream(partition);
      if (!streams.contains(stream)) {
        gone.put(partition, "NATS has no stream " + stream + " any more");
      }
    }
    return gone;
  }

  @Override
  public List<CommittedPosition> committedPositions(TopicSpec spec, List<String> subscriptions)
      throws DriverException {
    Topic topic = topic(spec.name(), spec.partitions());
    List<CommittedPosition> all = new ArrayList<>();
    for (int s = 0; s < subscriptions.size(); s++) {
      String durable = Topic.safe(subscriptions.get(s));
      for (int partition = 0; partition < spec.partitions(); partition++) {
        String stream = topic.stream(partition);
        ConsumerInfo info =
            whenReady("describe consumer " + durable, api -> infoIfThere(api, stream, durable));
        if (info != null) {
          long position = info.getAckFloor().getStreamSequence() + 1;
          all.add(new CommittedPosition(s, partition, position));
        }
      }
    }
    return all;
  }

  private static ConsumerInfo infoIfThere(
      JetStreamManagement jetStream, String stream, String durable)
      throws IOException, JetStreamApiException {
    try {
      return jetStream.getConsumerInfo(stream, durable);
    } catch (JetStreamApiException e) {
      if (Failures.isAbsent(e)) {
        return null;
      }
      throw e;
    }
  }

  @Override
  public DriverException explain(String what, Throwable failure) {
    return Failures.describe(what, failure);
  }

  @Override
  public MessageProducer createProducer(ProducerSpec spec) throws DriverException {
    ProducerOptions options = ProducerOptions.of(spec.options());
    reach.check(connection.hostsAndPorts());
    Topic topic = topic(spec.topic(), spec.partitions());
    int number = number(spec.place());
    int waitingMax = 2 * options.inFlightMessagesMax() * producers.usersEach();
    SharedClients.Hold<io.nats.client.Connection> held =
        producers.take(
            "",
            () ->
                connection.open(spec.clientId(), number, waitingMax, options.ackWaitMs(), SILENT));
    clientSettings.addAll(options.disclosed());
    return new TopicProducer(held, topic, number, Duration.ofMillis(options.ackWaitMs()));
  }

  @Override
  public MessageConsumer createConsumer(ConsumerSpec spec, MessageSink sink)
      throws DriverException {
    refuseLacking(spec.type());
    ConsumerOptions options = ConsumerOptions.of(spec.options());
    reach.check(connection.hostsAndPorts());
    Topic topic = topic(spec.topic(), spec.partitions());
    int number = number(spec.place());
    SharedClients.Hold<io.nats.client.Connection> held =
        consumers.take(
            "", () -> connection.open(spec.clientId(), number, 0, connection.timeoutMs(), SILENT));
    PullConsumer consumer = new PullConsumer(spec, topic, options, held, sink, keeper);
    clientSettings.addAll(options.disclosed(topic.partitions, spec.type()));
    try {
      topic.join(spec.subscription(), consumer, spec.type(), spec.place());
      return consumer;
    } catch (DriverException e) {
      consumer.close();
      throw e;
    }
  }

  private static void refuseLacking(SubscriptionType type) throws DriverException {
    if (type == SubscriptionType.EXCLUSIVE) {
      throw type.lacking(
          "NATS", "any client may pull from a consumer; failover with one consumer comes nearest");
    }
    if (type == SubscriptionType.KEY_SHARED) {
      throw type.lacking(
          "NATS",
          "a stream knows no keys; with several partitions failover keeps each key's order");
    }
  }

  /** Which server a client begins with, and which partition. */
  private int number(Place place) {
    return place == null ? clients++ : place.client();
  }

  private Topic topic(String name, int partitions) {
    return topics.computeIfAbsent(name, absent -> new Topic(name, partitions));
  }

  @Override
  public List<EffectiveSetting> clientSettings() {
    List<EffectiveSetting> all = new ArrayList<>(clientSettings);
    producers.disclosed("producer").ifPresent(all::add);
    consumers.disclosed("consumer").ifPresent(all::add);
    return List.copyOf(all);
  }

  /** True: the client's writer reads a message's value after it was handed over. */
  @Override
  public boolean retainsValue() {
    return true;
  }

  /** False: a message waits in the client's queue, which holds all that may be in flight. */
  @Override
  public boolean sendsMayBlock() {
    return false;
  }

  static void closeQuietly(io.nats.client.Connection client) {
    try {
      client.close();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    keeper.shutdownNow();
    if (admin != null) {
      closeQuietly(admin);
    }
  }
}
