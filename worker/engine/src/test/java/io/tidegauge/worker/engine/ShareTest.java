package io.tidegauge.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.function.BiPredicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ShareTest {
  private static final int PRODUCERS = 7;
  private static final int CONSUMERS = 12;
  private static final int TOPICS = 10;

  private static List<Share> all(int workers) {
    return IntStream.range(0, workers).mapToObj(w -> new Share(w, workers)).toList();
  }

  private static List<Long> counts(
      List<Share> shares, int things, BiPredicate<Share, Integer> has) {
    for (int thing = 0; thing < things; thing++) {
      int number = thing;
      assertThat(shares.stream().filter(share -> has.test(share, number))).hasSize(1);
    }
    List<Long> counts =
        shares.stream()
            .map(share -> IntStream.range(0, things).filter(t -> has.test(share, t)).count())
            .toList();
    long most = counts.stream().mapToLong(n -> n).max().orElseThrow();
    assertThat(counts).allMatch(n -> n >= most - 1);
    return counts;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 8})
  void eachThingBelongsToOneWorkerAndAllHaveAboutAsMany(int workers) {
    List<Share> shares = all(workers);
    List<Long> producers = counts(shares, PRODUCERS, Share::hasProducer);
    List<Long> consumers = counts(shares, CONSUMERS, (share, c) -> share.hasConsumer(PRODUCERS, c));
    counts(shares, TOPICS, Share::hasTopic);
    List<Long> clients =
        IntStream.range(0, workers).mapToObj(w -> producers.get(w) + consumers.get(w)).toList();
    long most = clients.stream().mapToLong(n -> n).max().orElseThrow();
    assertThat(clients).allMatch(n -> n >= most - 1);
  }

  @Test
  void consumersAreDealtOutAfterTheProducers() {
    Share last = new Share(2, 3);
    assertThat(IntStream.range(0, PRODUCERS).filter(last::hasProducer)).containsExactly(2, 5);
    // Seven producers: the first consumer is the second worker's.
    assertThat(IntStream.range(0, 6).filter(c -> last.hasConsumer(PRODUCERS, c)))
        .containsExactly(1, 4);
  }

  @Test
  void thereIsNoWorkerBeyondTheLast() {
    assertThatThrownBy(() -> new Share(3, 3))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("there is no worker 3 among 3, counted from 0");
    assertThatThrownBy(() -> new Share(0, 0)).isInstanceOf(IllegalArgumentException.class);
  }
}
