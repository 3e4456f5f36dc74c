package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.PartitionRead;
import io.tidegauge.worker.api.ReadBackSink;
import io.tidegauge.worker.api.ReadBackSpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads all partitions of a topic from their first offset, or a later one, to their end, in no
 * group. The end is what consumers may see when reading begins (the high watermark): it may be
 * behind what the leader has, so the last message known is waited for.
 */
final class WholeTopic {
  static final int ANY_LEADER = 0;

  private static final Duration POLL = Duration.ofMillis(200);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(2);
  private static final byte[] NO_BYTES = {};

  private final ReadBackSpec spec;
  private final ReadBackSink sink;
  private final Supplier<Consumer<byte[], byte[]>> clients;
  private final Map<TopicPartition, Long> counts = new HashMap<>();
  private String failure = "";

  WholeTopic(Connection connection, ReadBackSpec spec, ReadBackSink sink) {
    this(() -> new KafkaConsumer<>(settings(connection)), spec, sink);
  }

  WholeTopic(Supplier<Consumer<byte[], byte[]>> clients, ReadBackSpec spec, ReadBackSink sink) {
    this.clients = clients;
    this.spec = spec;
    this.sink = sink;
  }

  private static Map<String, Object> settings(Connection connection) {
    Map<String, Object> settings = connection.settingsFor(ConsumerConfig.configNames());
    settings.put(ConsumerConfig.CLIENT_ID_CONFIG, "tg-read-back");
    settings.put(
        ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
    settings.put(
        ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
    settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    // Whoever looks for a topic is not to make it.
    settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
    // A batch whose checksum does not fit would end the reading: what is damaged is seen by the
    // checksum of each message.
    settings.put(ConsumerConfig.CHECK_CRCS_CONFIG, false);
    // Wherever an offset is not there, that is to be seen, not jumped over.
    settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none");
    return settings;
  }

  /**
   * What the leaders have, all of which must be one broker unless it is {@link #ANY_LEADER}. A
   * client asks the leader that it knows of, in the epoch that it knows of, and is refused by any
   * broker that knows better. So what counts is that this client knows the broker as the leader: it
   * never goes back to an older epoch.
   */
  List<PartitionRead> read(int broker) throws DriverException, InterruptedException {
    long behindUntilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ReadBackSpec.BEHIND_MS);
    String missing = "";
    while (spec.leftMs() > 0) {
      Consumer<byte[], byte[]> client = open();
      try {
        Map<TopicPartition, Long> ends = ends(client);
        missing = notLed(client, broker);
        if (missing.isEmpty() && isBehind(ends, spec) && System.nanoTime() <= behindUntilNs) {
          missing = "its end did not show in time";
        }
        if (missing.isEmpty()) {
          List<PartitionRead> reads = read(client, ends);
          String lost = notLed(client, broker);
          return lost.isEmpty() ? reads : reads.stream().map(one -> one.doubted(lost)).toList();
        }
      } catch (KafkaException e) {
        DriverException failed = Failures.describe("read back " + spec.topic(), e);
        // Once something is known to be missing, the last question may have too little time left.
        boolean late = e instanceof TimeoutException && !missing.isEmpty();
        // What was found once would be found twice.
        if (!counts.isEmpty() || broker == ANY_LEADER && !late) {
          throw failed;
        }
        missing = late ? missing : failed.getMessage();
      } finally {
        client.close(CloseOptions.timeout(CLOSE_TIMEOUT));
      }
      Thread.sleep(POLL.toMillis());
    }
    return spec.unread(missing.isEmpty() ? "no time was left to read it" : missing);
  }

  /**
   * Whether the last message known is not to be seen yet. A leader says where its log ends once its
   * followers have reported to it what they have; it may have acknowledged more alone.
   */
  static boolean isBehind(Map<TopicPartition, Long> ends, ReadBackSpec spec) {
    return ends.entrySet().stream()
        .anyMatch(end -> end.getValue() <= spec.lastOf(end.getKey().partition()));
  }

  private Consumer<byte[], byte[]> open() {
    Consumer<byte[], byte[]> client = clients.get();
    client.assign(partitions());
    return client;
  }

  private List<TopicPartition> partitions() {
    return IntStream.range(0, spec.partitions())
        .mapToObj(partition -> new TopicPartition(spec.topic(), partition))
        .toList();
  }

  private Map<TopicPartition, Long> ends(Consumer<byte[], byte[]> client) {
    return client.endOffsets(partitions(), Duration.ofMillis(Math.max(1, spec.leftMs())));
  }

  /** Which partition the client does not know to be led by a broker, in words; "" if none. */
  private String notLed(Consumer<byte[], byte[]> client, int broker) {
    if (broker == ANY_LEADER) {
      return "";
    }
    for (PartitionInfo partition : client.partitionsFor(spec.topic())) {
      if (partition.leader() == null || partition.leader().id() != broker) {
        return "broker " + broker + " does not lead partition " + partition.partition();
      }
    }
    return "";
  }

  private List<PartitionRead> read(
      Consumer<byte[], byte[]> client, Map<TopicPartition, Long> ends) {
    Duration left = Duration.ofMillis(Math.max(1, spec.leftMs()));
    Map<TopicPartition, Long> firsts = new HashMap<>(client.beginningOffsets(partitions(), left));
    // Never before what is there, which was deleted, nor behind what there is: a topic made anew.
    firsts.replaceAll(
        (partition, first) ->
            Math.max(first, Math.min(spec.fromOf(partition.partition()), ends.get(partition))));
    firsts.forEach(client::seek);
    readTo(client, ends);
    return reads(client, firsts, ends);
  }

  /** What is past the end known at the beginning is not taken: the other partitions read alike. */
  private void readTo(Consumer<byte[], byte[]> client, Map<TopicPartition, Long> ends) {
    try {
      while (spec.leftMs() > 0 && !areRead(client, ends)) {
        for (ConsumerRecord<byte[], byte[]> found : client.poll(POLL)) {
          TopicPartition from = new TopicPartition(found.topic(), found.partition());
          if (found.offset() < ends.get(from)) {
            byte[] value = found.value() == null ? NO_BYTES : found.value();
            sink.found(spec.topicIndex(), found.partition(), found.offset(), 0, value);
            counts.merge(from, 1L, Long::sum);
          }
        }
      }
    } catch (KafkaException e) {
      // A batch that does not fit its checksum, or an offset that is gone: said of what is not
      // read.
      failure = Failures.describe("read on", e).getMessage();
    }
  }

  private static boolean areRead(Consumer<byte[], byte[]> client, Map<TopicPartition, Long> ends) {
    boolean all = true;
    for (Map.Entry<TopicPartition, Long> end : ends.entrySet()) {
      boolean read = client.position(end.getKey()) >= end.getValue();
      if (read) {
        client.pause(List.of(end.getKey()));
      }
      all &= read;
    }
    return all;
  }

  private List<PartitionRead> reads(
      Consumer<byte[], byte[]> client,
      Map<TopicPartition, Long> firsts,
      Map<TopicPartition, Long> ends) {
    List<PartitionRead> all = new ArrayList<>();
    for (TopicPartition partition : partitions()) {
      long at = client.position(partition);
      boolean complete = at >= ends.get(partition);
      String why = failure.isEmpty() ? "not read to its end in time" : failure;
      all.add(
          new PartitionRead(
              spec.topicIndex(),
              partition.partition(),
              counts.getOrDefault(partition, 0L),
              complete,
              complete ? "" : why + "; read up to offset " + at,
              "offset " + firsts.get(partition),
              "offset " + ends.get(partition)));
    }
    return all;
  }
}
