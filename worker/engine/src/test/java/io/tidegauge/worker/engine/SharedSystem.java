package io.tidegauge.worker.engine;

import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.message.MessageHeader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/** A system in memory that several trials use at once; writes down every message. */
final class SharedSystem implements Driver {
  private record Message(int producer, long sequence, long intendedNs, String key, int body) {}

  private final int partitions;
  private final List<String> created = new ArrayList<>();
  private final List<String> deleted = new ArrayList<>();
  private final List<String> expected = new ArrayList<>();
  private final Map<Integer, List<Message>> sent = new ConcurrentHashMap<>();
  private final Map<String, Map<Integer, MessageSink>> consumers = new ConcurrentHashMap<>();
  private final Map<String, Map<Integer, Set<Long>>> lost = new ConcurrentHashMap<>();
  private final Map<Integer, Set<Long>> failed = new ConcurrentHashMap<>();

  SharedSystem(int partitions) {
    this.partitions = partitions;
  }

  /** Forgets what was sent and who consumed it. */
  SharedSystem anew() {
    sent.clear();
    consumers.clear();
    return this;
  }

  /** Acknowledged, and kept from one subscription. */
  void losing(String subscription, int producer, Set<Long> sequences) {
    lost.put(subscription, Map.of(producer, sequences));
  }

  /** Stored, and reported as failed. */
  void failing(int producer, Set<Long> sequences) {
    failed.put(producer, sequences);
  }

  /** Clients that each trial said it would ask for. */
  synchronized List<String> expected() {
    return List.copyOf(expected);
  }

  @Override
  public synchronized void expect(int producers, int consumers, int subscriptions) {
    expected.add(producers + " " + consumers + " " + subscriptions);
  }

  synchronized List<String> created() {
    return List.copyOf(created);
  }

  synchronized List<String> deleted() {
    return List.copyOf(deleted);
  }

  /** Messages of the producer that has sent the fewest. */
  long sentLeast(int producers) {
    return sent.size() < producers
        ? 0
        : sent.values().stream().mapToLong(List::size).min().orElse(0);
  }

  /** The first messages of each producer, in words. */
  Set<String> sent(int each, long startNs) {
    Set<String> all = new TreeSet<>();
    for (List<Message> ofProducer : sent.values()) {
      for (Message m : ofProducer.subList(0, each)) {
        all.add(
            String.format(
                "producer %d sequence %d at %d key %s body %d",
                m.producer, m.sequence, m.intendedNs - startNs, m.key, m.body));
      }
    }
    return all;
  }

  @Override
  public synchronized void createTopics(List<TopicSpec> topics) {
    topics.forEach(topic -> created.add(topic.name()));
  }

  @Override
  public synchronized void deleteTopics(List<String> names) {
    deleted.addAll(names);
  }

  @Override
  public MessageProducer createProducer(ProducerSpec spec) {
    return new MessageProducer() {
      @Override
      public void send(InFlight message) {
        SharedSystem.this.send(spec.topic(), message);
      }

      @Override
      public void flush() {}

      @Override
      public void close() {}
    };
  }

  private void send(String topic, InFlight message) {
    byte[] value = message.value();
    int producer = MessageHeader.producer(value, 0);
    long sequence = MessageHeader.sequence(value, 0);
    sent.computeIfAbsent(producer, p -> new ArrayList<>())
        .add(
            new Message(
                producer,
                sequence,
                MessageHeader.intendedNs(value, 0),
                new String(message.key(), java.nio.charset.StandardCharsets.US_ASCII),
                MessageHeader.bodyIndex(value, 0)));
    int partition = Math.floorMod(Arrays.hashCode(message.key()), partitions);
    consumers.forEach(
        (subscription, ofPartitions) -> {
          if (subscription.startsWith(topic + "/") && !isLost(subscription, producer, sequence)) {
            MessageSink sink = ofPartitions.get(partition);
            synchronized (sink) {
              sink.received(0, partition, value, 0, value.length, System.nanoTime());
            }
          }
        });
    if (failed.getOrDefault(producer, Set.of()).contains(sequence)) {
      message.failed(new IOException("timed out"));
    } else {
      message.acked();
    }
  }

  private boolean isLost(String subscription, int producer, long sequence) {
    String name = subscription.substring(subscription.lastIndexOf("sub-"));
    return lost.getOrDefault(name, Map.of()).getOrDefault(producer, Set.of()).contains(sequence);
  }

  /** Those with a place share the partitions with consumers of other workers. */
  @Override
  public MessageConsumer createConsumer(ConsumerSpec spec, MessageSink sink) {
    Map<Integer, MessageSink> ofPartitions =
        consumers.computeIfAbsent(
            spec.topic() + "/" + spec.subscription(), s -> new ConcurrentHashMap<>());
    for (int p = 0; p < spec.partitions(); p++) {
      if (spec.place() == null || p % spec.place().members() == spec.place().member()) {
        ofPartitions.put(p, sink);
      }
    }
    return new MessageConsumer() {
      @Override
      public void pause() {}

      @Override
      public void resume() {}

      @Override
      public void close() {}
    };
  }

  @Override
  public boolean retainsValue() {
    return false;
  }

  @Override
  public boolean sendsMayBlock() {
    return false;
  }

  @Override
  public List<EffectiveSetting> describe(List<String> topics) {
    return List.of();
  }

  @Override
  public List<EffectiveSetting> clientSettings() {
    return List.of();
  }

  @Override
  public void close() {}
}
