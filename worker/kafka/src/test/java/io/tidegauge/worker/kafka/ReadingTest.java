package io.tidegauge.worker.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.CommittedPosition;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.PartitionRead;
import io.tidegauge.worker.api.ReadBackSink;
import io.tidegauge.worker.api.ReadBackSpec;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.junit.jupiter.api.Test;

/** Where reading begins and ends. */
class ReadingTest {
  private static final TopicPartition PARTITION = new TopicPartition("topic", 0);
  private static final ClientOptions OPTIONS =
      new ClientOptions(0, 0, "none", 10, 10, 1, "all", 100, Map.of(), Map.of(), 0);

  private static boolean isBehind(long end, long last) {
    Map<Integer, Long> known = last < 0 ? Map.of() : Map.of(0, last);
    ReadBackSpec spec =
        new ReadBackSpec("topic", 0, 1, Map.of(), "sub", true, false, known, Map.of(), Set.of(), 0);
    return WholeTopic.isBehind(Map.of(PARTITION, end), spec);
  }

  /** An end is one past the last offset that can be read. */
  @Test
  void anEndAtTheLastMessageKnownDoesNotShowItYet() {
    assertThat(isBehind(41, 41)).isTrue();
    assertThat(isBehind(42, 41)).isFalse();
    assertThat(isBehind(0, -1)).isFalse();
  }

  /** Where the last question has hardly any time left, what was answered before counts. */
  @Test
  void aLastQuestionThatComesTooLateLeavesWhatWasAnsweredBefore() throws Exception {
    assertThat(read(1).get(0).why()).isEqualTo("its end did not show in time");
    assertThatThrownBy(() -> read(0))
        .isInstanceOf(DriverException.class)
        .hasMessageContaining("9ms");
  }

  private static List<PartitionRead> read(int answers) throws Exception {
    AtomicInteger left = new AtomicInteger(answers);
    long deadlineNs = System.nanoTime() + 400_000_000L;
    ReadBackSpec spec =
        new ReadBackSpec(
            "topic",
            0,
            1,
            Map.of(),
            "sub",
            true,
            false,
            Map.of(0, 1_000L),
            Map.of(),
            Set.of(),
            deadlineNs);
    ReadBackSink nothing = (topic, partition, position, within, value) -> {};
    return new WholeTopic(() -> new Late(left), spec, nothing).read(WholeTopic.ANY_LEADER);
  }

  @Test
  void partitionsOfAPausedConsumerArePausedAsTheyCome() {
    assertThat(pausedAfterAssignment(true)).isTrue();
    assertThat(pausedAfterAssignment(false)).isFalse();
  }

  private static boolean pausedAfterAssignment(boolean startPaused) {
    MockConsumer<ByteBuffer, ByteBuffer> client = new MockConsumer<>("earliest");
    client.assign(List.of(PARTITION));
    ConsumerSpec spec = new ConsumerSpec("topic", 0, 1, "sub-0", "consumer", startPaused, OPTIONS);
    new GroupConsumer(client, spec, new Nothing(), true).onPartitionsAssigned(List.of(PARTITION));
    return client.paused().contains(PARTITION);
  }

  @Test
  void eachSubscriptionHasThePositionsOfItsOwnGroup() throws Exception {
    Map<String, Map<Integer, Long>> committed =
        Map.of("topic-a", Map.of(0, 5L), "topic-b", Map.of(0, 7L));
    assertThat(KafkaDriver.positions("topic", List.of("a", "b"), committed::get))
        .containsExactly(new CommittedPosition(0, 0, 5), new CommittedPosition(1, 0, 7));
  }

  /** Answers where the log ends a few times, then is out of time. */
  private static final class Late extends MockConsumer<byte[], byte[]> {
    private final AtomicInteger answersLeft;

    Late(AtomicInteger answersLeft) {
      super("none");
      this.answersLeft = answersLeft;
    }

    @Override
    public Map<TopicPartition, Long> endOffsets(Collection<TopicPartition> all, Duration timeout) {
      if (answersLeft.getAndDecrement() <= 0) {
        throw new TimeoutException("Failed to get offsets by times in 9ms");
      }
      return Map.of(PARTITION, 1L);
    }
  }

  /** Nothing is polled here. */
  private static final class Nothing implements MessageSink {
    @Override
    public void received(int topic, int partition, byte[] array, int offset, int length, long ns) {
      throw new AssertionError("nothing was sent");
    }

    @Override
    public void error(Throwable cause) {
      throw new AssertionError(cause);
    }
  }
}
