package io.tidegauge.worker.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class SpreadTest {
  @Test
  void topicsOfOnePartitionAreLedByAllBrokersAlike() {
    Spread spread = new Spread(List.of(1, 2, 3));
    List<Integer> leaders = new ArrayList<>();
    for (int topic = 0; topic < 9; topic++) {
      leaders.add(spread.place(1, 3).get(0).get(0));
    }
    for (int broker = 1; broker <= 3; broker++) {
      assertThat(Collections.frequency(leaders, broker)).isEqualTo(3);
    }
  }

  @Test
  void theNextTopicGoesOnWhereTheLastOneEnded() {
    Spread spread = new Spread(List.of(1, 2, 3));
    assertThat(spread.place(2, 2)).containsEntry(0, List.of(1, 2)).containsEntry(1, List.of(2, 3));
    assertThat(spread.place(1, 3)).containsEntry(0, List.of(3, 1, 2));
  }

  @Test
  void noMoreCopiesThanBrokers() {
    assertThat(new Spread(List.of(7)).canHold(1)).isTrue();
    assertThat(new Spread(List.of(7)).canHold(2)).isFalse();
  }
}
