package io.tidegauge.worker.nulldriver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.TopicSpec;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One null system, drivers of two workers. */
@Timeout(60)
class RemoteTest {
  private static final int BYTES = 64;
  private static final int PARTITIONS = 3;
  private static final ClientOptions OPTIONS =
      new ClientOptions(0, 0, "none", 1_000, 10, 1, "all", BYTES, Map.of(), Map.of(), 0);

  private final NullDriverFactory factory = new NullDriverFactory();
  private final List<Driver> drivers = new ArrayList<>();
  private NullServer server;

  @BeforeEach
  void serve() throws Exception {
    server = new NullServer(InetAddress.getLoopbackAddress());
    driver(Map.of()).createTopics(List.of(new TopicSpec("t", PARTITIONS, 1, Map.of())));
  }

  @AfterEach
  void stop() throws Exception {
    drivers.forEach(Driver::close);
    server.close();
  }

  private Driver driver(Map<String, String> faults) throws DriverException {
    Map<String, String> settings = new HashMap<>(faults);
    settings.put("address", "127.0.0.1:" + server.port());
    drivers.add(factory.open(settings));
    return drivers.get(drivers.size() - 1);
  }

  private MessageConsumer consumer(String subscription, MessageSink sink) throws DriverException {
    return driver(Map.of())
        .createConsumer(
            new ConsumerSpec("t", 0, PARTITIONS, subscription, "consumer", false, OPTIONS), sink);
  }

  private MessageProducer producer(Map<String, String> faults) throws DriverException {
    return driver(faults).createProducer(new ProducerSpec("t", 0, PARTITIONS, "producer", OPTIONS));
  }

  private static Numbered[] send(MessageProducer producer, int from, int until) {
    Numbered[] messages =
        IntStream.range(from, until).mapToObj(Numbered::new).toArray(Numbered[]::new);
    for (Numbered message : messages) {
      producer.send(message);
    }
    return messages;
  }

  private static void assertAcked(Numbered... messages) throws InterruptedException {
    for (Numbered message : messages) {
      assertThat(message.outcomes.poll(20, TimeUnit.SECONDS)).isEqualTo("acked");
      assertThat(message.outcomes).isEmpty();
    }
  }

  /** What is acknowledged is stored; that it is received takes a little longer. */
  private static void await(int messages, Received... by) throws InterruptedException {
    long deadline = System.nanoTime() + 20_000_000_000L;
    while (Arrays.stream(by).mapToInt(Received::count).sum() < messages
        && System.nanoTime() < deadline) {
      Thread.sleep(1);
    }
  }

  @Test
  void whatOneWorkerSendsAnotherReceivesOnceForEachSubscription() throws Exception {
    Received first = new Received();
    Received second = new Received();
    try (MessageConsumer a = consumer("sub-0", first);
        MessageConsumer b = consumer("sub-1", second);
        MessageProducer producer = producer(Map.of())) {
      assertAcked(send(producer, 0, 5_000));
      await(5_000, first);
      await(5_000, second);
    }
    for (Received received : List.of(first, second)) {
      assertThat(received.sorted()).isEqualTo(IntStream.range(0, 5_000).boxed().toList());
      assertThat(received.isInOrder()).isTrue();
      assertThat(received.errors).isEmpty();
    }
  }

  @Test
  void faultsHitTheMessagesThatWereNamed() throws Exception {
    Received received = new Received();
    Map<String, String> faults =
        Map.of(
            "lose", "at:10",
            "duplicate", "at:20",
            "swap", "at:30",
            "flip_body", "at:40",
            "fail_stored", "at:50",
            "fail_lost", "at:60");
    Numbered[] sent;
    try (MessageConsumer a = consumer("sub-0", received);
        MessageProducer producer = producer(faults)) {
      sent = send(producer, 0, 100);
      producer.flush();
      for (Numbered message : sent) {
        boolean failed = message.number == 50 || message.number == 60;
        assertThat(message.outcomes.poll(20, TimeUnit.SECONDS))
            .isEqualTo(failed ? "failed" : "acked");
      }
      await(99, received);
    }
    List<Integer> expected = new ArrayList<>(IntStream.range(0, 100).boxed().toList());
    expected.removeAll(List.of(10, 60));
    expected.add(21, 20);
    expected.sort(null);
    assertThat(received.sorted()).isEqualTo(expected);
    assertThat(received.damaged).containsExactly(40);
    assertThat(received.isInOrder()).isFalse();
  }

  @Test
  void consumersMayJoinAndLeaveWhileMessagesFlow() throws Exception {
    Received first = new Received();
    Received second = new Received();
    Received third = new Received();
    MessageConsumer stays = consumer("sub-0", first);
    MessageConsumer leaves = consumer("sub-0", second);
    try (MessageProducer producer = producer(Map.of())) {
      assertAcked(send(producer, 0, 2_000));
      MessageConsumer joins = consumer("sub-0", third);
      assertAcked(send(producer, 2_000, 4_000));
      leaves.close();
      assertAcked(send(producer, 4_000, 6_000));
      joins.close();
      assertAcked(send(producer, 6_000, 7_000));
      await(7_000, first, second, third);
    }
    stays.close();
    assertThat(first.numbers).isNotEmpty();
    assertThat(second.numbers).isNotEmpty();
    assertThat(third.numbers).isNotEmpty();
    List<Integer> all = new ArrayList<>(first.numbers);
    all.addAll(second.numbers);
    all.addAll(third.numbers);
    all.sort(null);
    assertThat(all).isEqualTo(IntStream.range(0, 7_000).boxed().toList());
  }

  @Test
  void ejectedConsumersJoinAgainAndOthersReceiveWhatTheyHadNotAcknowledged() throws Exception {
    Driver own = driver(Map.of("eject", "100:5:4"));
    own.createTopics(List.of(new TopicSpec("ejecting", PARTITIONS, 1, Map.of())));
    Received first = new Received();
    Received second = new Received();
    List<MessageConsumer> consumers = new ArrayList<>();
    for (Received received : List.of(first, second)) {
      ConsumerSpec spec =
          new ConsumerSpec("ejecting", 0, PARTITIONS, "sub-0", "consumer", false, OPTIONS);
      consumers.add(own.createConsumer(spec, received));
    }
    int sent = 0;
    try (MessageProducer producer =
        own.createProducer(new ProducerSpec("ejecting", 0, PARTITIONS, "producer", OPTIONS))) {
      long deadline = System.nanoTime() + 30_000_000_000L;
      while (first.count() + second.count() < sent + 4 * 5 && System.nanoTime() < deadline) {
        assertAcked(send(producer, sent, sent + 50));
        sent += 50;
        Thread.sleep(5);
      }
      // No more come than that, although much is sent.
      assertAcked(send(producer, sent, sent + 1_000));
      sent += 1_000;
      await(sent + 4 * 5, first, second);
    }
    for (MessageConsumer consumer : consumers) {
      consumer.close();
    }
    assertThat(first.errors).isEmpty();
    assertThat(second.errors).isEmpty();
    assertThat(first.count()).isPositive();
    assertThat(second.count()).isPositive();
    List<Integer> all = new ArrayList<>(first.numbers);
    all.addAll(second.numbers);
    assertThat(all).hasSize(sent + 4 * 5);
    assertThat(new java.util.TreeSet<>(all)).hasSize(sent);
  }

  @Test
  void aDelayedOutcomeComesLater() throws Exception {
    Received received = new Received();
    long before = System.nanoTime();
    try (MessageConsumer a = consumer("sub-0", received);
        MessageProducer producer = producer(Map.of("ack_delay_us", "50000"))) {
      assertAcked(send(producer, 0, 1));
      assertThat(System.nanoTime() - before).isGreaterThan(50_000_000);
      await(1, received);
    }
    assertThat(received.numbers).containsExactly(0);
  }

  @Test
  void outcomesAreToldWhenTheServerDies() throws Exception {
    MessageProducer producer = producer(Map.of());
    assertAcked(send(producer, 0, 10));
    server.close();
    producer.close();
    Numbered late = send(producer, 10, 11)[0];
    assertThat(late.outcomes.poll(20, TimeUnit.SECONDS)).isEqualTo("failed");
  }

  @Test
  void whatIsMissingIsNamed() throws Exception {
    Driver driver = driver(Map.of());
    driver.deleteTopics(List.of("t", "never was"));
    assertThatThrownBy(() -> producer(Map.of()))
        .isInstanceOf(DriverException.class)
        .hasMessage("null driver: there is no topic t");
    assertThatThrownBy(() -> consumer("sub-0", new Received()))
        .hasMessage("null driver: there is no topic t");
    assertThatThrownBy(() -> driver(Map.of("eject", "100:5")))
        .hasMessageContaining("eject must look like '500:5:6'")
        .hasMessageContaining("not '100:5'");
    assertThatThrownBy(() -> factory.open(Map.of("eject", "1:1:1")))
        .hasMessage("null driver: eject needs an address");
    assertThatThrownBy(() -> factory.open(Map.of("address", "nowhere")))
        .hasMessageContaining("address must look like '127.0.0.1:4000', not 'nowhere'");
    int port = server.port();
    server.close();
    assertThatThrownBy(
            () ->
                factory
                    .open(Map.of("address", "127.0.0.1:" + port))
                    .createTopics(List.of(new TopicSpec("u", 1, 1, Map.of()))))
        .isInstanceOf(DriverException.class)
        .hasMessageContaining("its server at 127.0.0.1")
        .hasMessageContaining("can't be used");
  }

  private static final class Numbered extends InFlight {
    final int number;
    final LinkedBlockingQueue<String> outcomes = new LinkedBlockingQueue<>();
    private final byte[] value = new byte[BYTES];

    Numbered(int number) {
      this.number = number;
      ByteBuffer.wrap(value).putInt(number);
    }

    @Override
    public byte[] value() {
      return value;
    }

    @Override
    public byte[] key() {
      return null;
    }

    @Override
    public void acked() {
      outcomes.add("acked");
    }

    @Override
    public void failed(Throwable cause) {
      outcomes.add("failed");
    }
  }

  private static final class Received implements MessageSink {
    final List<Integer> numbers = new ArrayList<>();
    final List<Integer> damaged = new ArrayList<>();
    final List<Throwable> errors = new ArrayList<>();
    private final Map<Integer, List<Integer>> byPartition = new HashMap<>();

    @Override
    public synchronized void received(
        int topic, int partition, byte[] array, int offset, int length, long ns) {
      int number = ByteBuffer.wrap(array, offset, length).getInt();
      numbers.add(number);
      byPartition.computeIfAbsent(partition, p -> new ArrayList<>()).add(number);
      for (int i = 4; i < length; i++) {
        if (array[offset + i] != 0) {
          damaged.add(number);
        }
      }
    }

    synchronized int count() {
      return numbers.size();
    }

    synchronized List<Integer> sorted() {
      return numbers.stream().sorted().toList();
    }

    synchronized boolean isInOrder() {
      return byPartition.values().stream().allMatch(n -> n.equals(n.stream().sorted().toList()));
    }

    @Override
    public void error(Throwable cause) {
      errors.add(cause);
    }
  }
}
