package io.tidegauge.worker.engine.load;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LoadThreadsTest {
  @ParameterizedTest
  @CsvSource({
    // Slow producers share one thread, but not too many of them.
    "16, 20000, 1024, 1",
    "16, 0, 1024, 1",
    "1, 400000, 100, 1",
    "100, 20000, 1024, 7",
    "16, 100001, 100, 3",
    "4, 1000000, 100, 4",
    // Large messages take longer to hand over.
    "16, 640, 1048576, 10",
    // Nothing is known of the rate, or a send may block.
    "4, Infinity, 1024, 4",
    "1000, Infinity, 1024, 64",
    "5000, 20000, 1024, 64",
  })
  void asManyThreadsAsTheLoadNeeds(int producers, double msgsPerS, int bytes, int threads) {
    assertThat(LoadThreads.countFor(producers, msgsPerS, bytes)).isEqualTo(threads);
  }
}
