package io.tidegauge.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.load.Keys;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How many messages each producer may have in flight: as many as asked for, if memory has room. */
class WindowTest {
  private static final int KIB = 1 << 10;

  @ParameterizedTest
  @CsvSource({
    "5000, 1, 256, 5000",
    "1000000, 2, 64, 16384", // 32 MiB in all, however small the heap
    "100000, 2, 1024, 100000", // 195 MiB, less than a quarter of the heap
    "100000, 4, 1024, 65536", // a quarter of the heap
    "1000000, 4, 65536, 262144", // a place for each, at most
  })
  void asMuchAsTheHeapHasRoomFor(int asked, int producers, long heapMib, int expected) {
    int slots = Setup.slotsPerProducer(plan(asked, producers), KIB, heapMib << 20);
    assertThat(slots).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({
    "100000, 4, 1, 1024, 65536",
    "100000, 4, 4, 256, 65536", // a quarter of the heap for each
    "100000, 5, 4, 512, 65536", // one of them has two, and none has another window than the others
    "1000000, 2, 2, 16, 16384", // 32 MiB in all
  })
  void aWindowIsTheSameWhereverTheProducerIs(
      int asked, int producers, int workers, long heapMib, int expected) {
    for (int worker = 0; worker < workers; worker++) {
      TrialPlan plan = plan(asked, producers, new Share(worker, workers));
      assertThat(Setup.slotsPerProducer(plan, KIB, heapMib << 20)).isEqualTo(expected);
    }
  }

  private static TrialPlan plan(int inFlight, int producers) {
    return plan(inFlight, producers, null);
  }

  private static TrialPlan plan(int inFlight, int producers, Share share) {
    ClientOptions client =
        new ClientOptions(0, 0, "none", inFlight, 10, 1, "all", KIB, Map.of(), Map.of(), 0);
    return new TrialPlan(
        9,
        1,
        List.of(new TopicSpec("t", 1, 1, Map.of())),
        producers,
        1,
        1,
        new TrialPlan.Payload(KIB, 1, "", 1),
        Keys.Choice.NONE,
        0,
        Arrival.CLOSED_LOOP,
        1_000,
        client,
        0,
        0,
        new TrialPlan.Variant(
            SubscriptionType.BY_PARTITION,
            false,
            null,
            "",
            TrialPlan.Variant.SPIN_SHARE_MAX,
            TrialPlan.Variant.GRAIN_BY_CPUS,
            share));
  }
}
