package io.tidegauge.worker.engine.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.engine.load.Keys;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What each type of subscription promises, on hand-written histories. */
class OrderTest {
  @Test
  void byPartitionALaterMessageOfAnotherPartitionBreaksNothing() {
    Order order = Order.byPartition(1, 2);
    assertThat(order.keeps(0, 0, 5)).isTrue();
    assertThat(order.keeps(0, 1, 3)).isTrue();
    assertThat(order.keeps(0, 0, 4)).isFalse();
  }

  @Test
  void byKeyOnlyMessagesOfTheSameKeyBreakTheOrder() {
    Keys.Rule keys = Keys.Rule.of(Keys.Choice.ROUND_ROBIN, 3, 1, 0);
    Order order = Order.byKey(0, 1, keys);
    assertThat(keys.indexOf(0, 7)).isEqualTo(keys.indexOf(0, 4));
    assertThat(order.keeps(0, 0, 7)).isTrue();
    // Another key, though of the same partition.
    assertThat(order.keeps(0, 0, 5)).isTrue();
    assertThat(order.keeps(0, 0, 4)).isFalse();
    assertThat(order.keeps(0, 1, 1)).isFalse();
  }

  @Test
  void sharedPromisesNone() {
    assertThat(Order.NONE.keeps(0, 0, 9)).isTrue();
    assertThat(Order.NONE.keeps(0, 0, 1)).isTrue();
  }

  @Test
  void randomKeysFollowFromProducerAndSequenceAndCoverAll() {
    Keys.Rule keys = Keys.Rule.of(Keys.Choice.RANDOM, 100, 42, 0);
    Set<Integer> seen = new HashSet<>();
    int[] counts = new int[100];
    for (long s = 0; s < 100_000; s++) {
      int index = keys.indexOf(3, s);
      assertThat(index).isEqualTo(keys.indexOf(3, s));
      seen.add(index);
      counts[index]++;
    }
    assertThat(seen).hasSize(100);
    for (int n : counts) {
      // Five standard deviations of a fair choice.
      assertThat(n).isBetween(840, 1_160);
    }
  }
}
