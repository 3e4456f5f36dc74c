package io.tidegauge.worker.bench;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.Threads;
import io.tidegauge.worker.engine.message.PayloadPool;
import io.tidegauge.worker.engine.os.ProcessUse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.ByteBufferDeserializer;
import org.apache.kafka.common.serialization.Deserializer;

/**
 * What producing and consuming through Kafka's client costs with nothing around it: no header, no
 * check, no histogram. Same client, same settings and same number of messages in flight as the
 * engine with the kafka driver, to compare with. With a rate (of all producers together) each
 * thread parks until its next message is due, or {@code gather_us} longer, and does not look how
 * late that became. With {@code copies=0} the consumer leaves bodies where the fetch response lies,
 * as the engine's driver does.
 *
 * <pre>
 * KafkaBareLoop connect.bootstrap.servers=HOST:PORT [partitions=1] [producers=1] [consumers=1] [rate=0] [bytes=1024] [in_flight=5000] [gather_us=0] [copies=1] [seconds=5] [warm=5]
 * </pre>
 */
public final class KafkaBareLoop {
  private static final int RECORD_OVERHEAD_BYTES = 128;

  private final Options options;
  private final ClientOptions client;
  private final String topic = "bare-" + System.nanoTime();
  private final AtomicLong consumed = new AtomicLong();
  private volatile boolean done;

  private KafkaBareLoop(Options options) {
    this.options = options;
    this.client = options.client();
  }

  public static void main(String[] args) throws Exception {
    new KafkaBareLoop(new Options(args)).run();
    System.exit(0);
  }

  private void run() throws Exception {
    try (Admin admin = Admin.create(new HashMap<>(options.connection()))) {
      admin
          .createTopics(
              List.of(
                  new NewTopic(
                      topic, Optional.of(options.number("partitions", 1)), Optional.empty())))
          .all()
          .get();
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < options.number("consumers", 1); i++) {
        threads.add(Threads.start("bare-consumer-" + i, this::consume));
      }
      for (int i = 0; i < options.number("producers", 1); i++) {
        threads.add(Threads.start("bare-producer-" + i, this::produce));
      }
      Thread.sleep(options.number("warm", 5) * 1_000L);
      measure(options.number("seconds", 5));
      done = true;
      for (Thread thread : threads) {
        thread.join();
      }
      admin.deleteTopics(List.of(topic)).all().get();
    }
  }

  private void measure(int seconds) throws InterruptedException {
    long messages = consumed.get();
    long cpu = ProcessUse.cpuNs();
    long gc = ProcessUse.gcPauseNs();
    long began = System.nanoTime();
    Thread.sleep(seconds * 1_000L);
    long ended = System.nanoTime();
    messages = consumed.get() - messages;
    cpu = ProcessUse.cpuNs() - cpu;
    gc = ProcessUse.gcPauseNs() - gc;
    double millions = messages / 1e6;
    System.out.printf(
        "bare loop, bytes %d: %,.0f msg/s, %.3f CPU-s per million, RSS %.0f MB%n",
        client.messageBytes(),
        messages / ((ended - began) / 1e9),
        cpu / 1e9 / millions,
        ProcessUse.residentBytes() / 1e6);
    // The same for programs (benchmarks/generator.py), in one piece: the client logs meanwhile.
    System.out.println(
        String.format(
            "figures from_ns=%d until_ns=%d messages=%d cpu_ns=%d gc_ns=%d ",
            began, ended, messages, cpu, gc));
  }

  private void produce() {
    Map<String, Object> settings = new HashMap<>(options.connection());
    settings.put("batch.size", client.batchBytesMax());
    settings.put("linger.ms", (client.batchDelayUsMax() + 999) / 1000);
    settings.put("compression.type", client.compression());
    settings.put("acks", client.acks().equals("one") ? "1" : "all");
    settings.put("max.in.flight.requests.per.connection", 5);
    int bytes = client.messageBytes();
    PayloadPool pool = PayloadPool.seeded(42, bytes, 1, 256);
    byte[][] values = new byte[pool.size()][];
    for (int i = 0; i < values.length; i++) {
      values[i] = pool.newValue(1, 0, i);
    }
    Semaphore free = new Semaphore(client.inFlightMessagesMax());
    int rate = options.number("rate", 0);
    double intervalNs = rate == 0 ? 0 : 1e9 * options.number("producers", 1) / rate;
    long gatherNs = options.number("gather_us", 0) * 1_000L;
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
      long began = System.nanoTime();
      long sent = 0;
      for (int i = 0; !done; i = i + 1 == values.length ? 0 : i + 1) {
        if (rate > 0) {
          await(began + (long) (sent++ * intervalNs), gatherNs);
        }
        free.acquireUninterruptibly();
        producer.send(new ProducerRecord<>(topic, values[i]), (meta, error) -> free.release());
      }
    }
  }

  /** Sleeps if it is too early, then for so much longer that more are due. */
  private static void await(long atNs, long gatherNs) {
    long left = atNs - System.nanoTime();
    while (left > 0) {
      LockSupport.parkNanos(left + gatherNs);
      left = atNs - System.nanoTime();
    }
  }

  private void consume() {
    Map<String, Object> settings = new HashMap<>(options.connection());
    int fetchBytes =
        Math.max(
            1 << 20,
            client.receiveQueueMessages() * (client.messageBytes() + RECORD_OVERHEAD_BYTES));
    settings.put("group.id", topic);
    settings.put("auto.offset.reset", "earliest");
    settings.put("fetch.max.bytes", fetchBytes);
    settings.put("max.partition.fetch.bytes", fetchBytes);
    if (options.number("copies", 1) == 0) {
      consume(settings, new ByteBufferDeserializer());
    } else {
      consume(settings, new ByteArrayDeserializer());
    }
  }

  private <T> void consume(Map<String, Object> settings, Deserializer<T> deserializer) {
    try (KafkaConsumer<T, T> consumer = new KafkaConsumer<>(settings, deserializer, deserializer)) {
      consumer.subscribe(List.of(topic));
      while (!done) {
        long n = 0;
        for (var record : consumer.poll(Duration.ofMillis(100))) {
          n += record.value() != null ? 1 : 0;
        }
        consumed.addAndGet(n);
      }
    }
  }
}
