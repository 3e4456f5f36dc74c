package io.tidegauge.worker.engine.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LoadThreadsTest {
  @ParameterizedTest
  @CsvSource({
    // Slow producers share one thread, but not too many of them.
    "16, 20000, 1024, 1",
    "16, 0, 1024, 1",
    "1024, 1024, 100, 1",
    "5000, 5000, 100, 5",
    "10000, 20000, 100, 10",
    "1, 400000, 100, 1",
    "100, 20000, 1024, 1",
    "16, 100001, 100, 3",
    "4, 1000000, 100, 4",
    // Large messages take longer to hand over.
    "16, 640, 1048576, 10",
    // Nothing is known of the rate, or a send may block.
    "4, Infinity, 1024, 4",
    "1000, Infinity, 1024, 64",
    "5000, Infinity, 1024, 64",
  })
  void asManyThreadsAsTheLoadNeeds(int producers, double msgsPerS, int bytes, int threads) {
    assertThat(LoadThreads.countFor(producers, msgsPerS, bytes)).isEqualTo(threads);
  }

  @ParameterizedTest
  @CsvSource({"1, 50, 200000", "16, 50, 200000", "156, 5, 7200000", "10000, 1, 10000000"})
  void aThreadWithManyProducersLooksLessOften(int producers, int spins, long parkNs) {
    assertThat(LoadThread.slotSpins(producers)).isEqualTo(spins);
    assertThat(LoadThread.slotParkNs(producers)).isEqualTo(parkNs);
  }

  @ParameterizedTest
  @CsvSource({
    "-1, 0.05, 2, 50000",
    "-1, 0.05, 4, 50000",
    "-1, 0.05, 5, 0",
    // Who wants to spin more than usual wants to be punctual.
    "-1, 0.06, 2, 0",
    "0, 0.05, 2, 0",
    "20000, 1, 64, 20000",
  })
  void messagesAreSentTogetherWhereCpusAreScarce(long asked, double spin, int cpus, long grain) {
    assertThat(LoadThreads.grainNs(asked, spin, 0.05, cpus)).isEqualTo(grain);
  }

  @ParameterizedTest
  @CsvSource({
    // One in 100 us is less than one in each grain.
    "50000, 10000, 0, 0",
    "50000, 20000, 100000, 50000",
    // The third would be 80 us late: two of three more than a grain.
    "50000, 25000, 80000, 60000",
    "50000, 40000, 100000, 75000",
    "50000, 100000, 100000, 90000",
    "50000, 1000000, 100000, 99000",
    "500000, 20000, 1000000, 950000",
    "0, 1000000, 0, 0",
  })
  void messagesAreGatheredUntilHalfAreAGrainLate(
      long grain, double msgsPerS, long evenNs, long randomNs) {
    assertThat(LoadThread.gatherNs(grain, msgsPerS, true)).isEqualTo(evenNs);
    assertThat(LoadThread.gatherNs(grain, msgsPerS, false)).isEqualTo(randomNs);
    double apartNs = 1e9 / msgsPerS;
    long sentTogether = 1 + (long) (evenNs / apartNs);
    long moreThanAGrainLate = 0;
    for (int i = 0; i < sentTogether; i++) {
      moreThanAGrainLate += evenNs - i * apartNs > grain ? 1 : 0;
    }
    assertThat(moreThanAGrainLate).isLessThanOrEqualTo(sentTogether / 2);
    if (randomNs > 0) {
      // The first is late by the whole wait, and of the others that come meanwhile each by a part
      // of
      // it, all parts alike.
      double others = randomNs / apartNs;
      double lateAGrain = 1 + others * (randomNs - grain) / randomNs;
      assertThat(lateAGrain / (1 + others)).isCloseTo(0.5, within(1e-9));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "0.05, 1, 2, 0.05",
    "0.05, 2, 2, 0.05",
    // 64 threads would spin away 3.2 CPUs of 2.
    "0.05, 64, 2, 0.0015625",
    "0.05, 16, 16, 0.05",
    "0.05, 64, 16, 0.0125",
    "1, 1, 2, 1",
    "1, 4, 2, 0.25",
    "1, 4, 16, 1",
    "0, 64, 2, 0",
    "0.05, 0, 2, 0.05",
  })
  void allTogetherLeaveCpusToOthers(double max, int threads, int cpus, double each) {
    assertThat(LoadThreads.spinShare(max, threads, cpus)).isEqualTo(each);
  }
}
