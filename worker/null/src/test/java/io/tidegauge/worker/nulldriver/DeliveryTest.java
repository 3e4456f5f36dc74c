package io.tidegauge.worker.nulldriver;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.api.MessageSink;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What reaches which consumer, and when, with consumers that never take anything themselves. */
class DeliveryTest {
  private static final long MS_NS = 1_000_000;

  private final List<NullConsumer> consumers = new ArrayList<>();

  @AfterEach
  void close() {
    consumers.forEach(NullConsumer::close);
  }

  private NullConsumer consumer() {
    consumers.add(new NullConsumer("paused", 0, new Nowhere(), /* paused= */ true, 0));
    return consumers.get(consumers.size() - 1);
  }

  private static List<Integer> taken(ChunkQueue queue) {
    List<Integer> first = new ArrayList<>();
    queue.take(
        new ChunkQueue.Taker() {
          @Override
          public void take(int partition, byte[] array, int offset, int length) {
            first.add((int) array[offset]);
          }

          @Override
          public void beginBatch() {}
        });
    return first;
  }

  /** The engine fills the array anew as soon as the message has its outcome. */
  @Test
  void aMessageHeldToBeOvertakenIsACopy() throws Exception {
    NullTopic topic = new NullTopic(1);
    topic.add("sub-0", consumer());
    NullTopic.Way[][] ways = topic.ways(100, 1 << 20);
    Delivery delivery = new Delivery(NullSettings.parse(Map.of("swap", "at:0")), ways);
    byte[] value = new byte[100];
    for (byte number = 1; number <= 3; number++) {
      value[0] = number;
      assertThat(delivery.deliver(value, null)).isTrue();
    }
    assertThat(taken(ways[0][0].queue())).containsExactly(2, 1, 3);
  }

  @Test
  void theConsumersOfASubscriptionShareItsPartitions() {
    NullTopic topic = new NullTopic(4);
    NullConsumer first = consumer();
    NullConsumer second = consumer();
    NullConsumer alone = consumer();
    topic.add("sub-0", first);
    topic.add("sub-0", second);
    topic.add("sub-1", alone);
    NullTopic.Way[][] ways = topic.ways(100, 1 << 20);
    List<NullConsumer> shared = new ArrayList<>();
    for (NullTopic.Way[] way : ways) {
      shared.add(way[0].consumer());
      assertThat(way[1].consumer()).isSameAs(alone);
    }
    assertThat(shared).containsExactly(first, second, first, second);
  }

  @Test
  void aStallThatBeginsAsAnotherEndsGoesOn() throws Exception {
    NullSettings settings = NullSettings.parse(Map.of("stalls", "1000:500,1500:100"));
    long firstSend = 7_000 * MS_NS;
    assertThat(settings.afterStalls(firstSend + 999 * MS_NS, firstSend))
        .isEqualTo(firstSend + 999 * MS_NS);
    assertThat(settings.afterStalls(firstSend + 1_200 * MS_NS, firstSend))
        .isEqualTo(firstSend + 1_600 * MS_NS);
    assertThat(settings.afterStalls(firstSend + 1_600 * MS_NS, firstSend))
        .isEqualTo(firstSend + 1_600 * MS_NS);
  }

  /** Of consumers that are paused. */
  private static final class Nowhere implements MessageSink {
    @Override
    public void received(int topic, int partition, byte[] array, int offset, int length, long ns) {
      throw new AssertionError("a paused consumer took a message");
    }

    @Override
    public void error(Throwable cause) {
      throw new AssertionError(cause);
    }
  }
}
