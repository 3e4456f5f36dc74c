package io.tidegauge.worker.engine;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.check.ConsumerWork;
import io.tidegauge.worker.engine.load.Keys;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * How many messages may be in flight: as many as asked for, if memory has room for their values.
 */
class WindowTest {
  private static final int KIB = 1 << 10;

  @ParameterizedTest
  @CsvSource({
    "5000, 1, 1, 5, true",
    "100000, 2, 1, 196, true",
    "100000, 2, 1, 195, false",
    "100000, 4, 4, 98, true", // one for each
    "100000, 5, 4, 196, true",
    "100000, 5, 4, 195, false", // one of them has two: what one has no room for is refused by all
    "2000000000, 64, 1, 1000000, false",
  })
  void whatTheHeapHasNoRoomForIsRefused(
      int asked, int producers, int workers, long heapMib, boolean fits) {
    for (int worker = 0; worker < workers; worker++) {
      TrialPlan plan = plan(asked, producers, new Share(worker, workers));
      if (fits) {
        plan.requireRoom(heapMib << 20);
      } else {
        assertThatThrownBy(() -> plan.requireRoom(heapMib << 20))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining("MiB of messages may be in flight, and the heap has " + heapMib);
      }
    }
  }

  private static TrialPlan plan(int inFlight, int producers, Share share) {
    ClientOptions client =
        new ClientOptions(0, 0, "none", inFlight, 10, 1, "all", KIB, Map.of(), Map.of(), 0);
    return new TrialPlan(
        9,
        1,
        List.of(new TopicSpec("t", 1, 1, Map.of())),
        new TrialPlan.Users(producers, 1, 1, 0),
        new TrialPlan.Payload(KIB, 1, "", 1),
        new TrialPlan.KeyRange(Keys.Choice.NONE, 0),
        new TrialPlan.Load(Arrival.CLOSED_LOOP, 1_000, null, 0),
        client,
        new TrialPlan.Variant(
            SubscriptionType.BY_PARTITION,
            false,
            "",
            TrialPlan.Variant.SPIN_SHARE_MAX,
            TrialPlan.Variant.GRAIN_BY_CPUS,
            ConsumerWork.NONE,
            share));
  }
}
