package io.tidegauge.worker.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class ScheduleTest {
  private static final long START = 1_000_000_000_000L;

  private static List<Long> take(Schedule s, RateProfile profile, int n) {
    List<Long> times = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      times.add(s.nextNs(profile));
      s.advance();
    }
    return times;
  }

  @Test
  void uniformProducersTogetherAreEvenlySpaced() {
    RateProfile profile = RateProfile.startingAt(START, 1_000_000);
    List<Long> all = new ArrayList<>();
    for (int p = 0; p < 3; p++) {
      all.addAll(take(new Schedule(new UniformArrivals(p, 3), profile), profile, 100));
    }
    Collections.sort(all);
    for (int i = 0; i < all.size(); i++) {
      assertThat(all.get(i)).isEqualTo(START + i * 1_000L);
    }
  }

  @Test
  void uniformTimesDoNotDriftInADay() {
    RateProfile profile = RateProfile.startingAt(START, 300_000);
    long messages = 300_000L * 86_400;
    assertThat(profile.timeOf(messages)).isCloseTo(START + 86_400_000_000_000L, within(1L));
  }

  @Test
  void poissonHasTheRateAndTheSpreadOfOne() {
    RateProfile profile = RateProfile.startingAt(START, 10_000);
    List<Long> times = take(new Schedule(new PoissonArrivals(7, 0, 1), profile), profile, 100_000);
    double meanGap = (times.get(99_999) - times.get(0)) / 99_999.0;
    double squares = 0;
    for (int i = 1; i < times.size(); i++) {
      double gap = times.get(i) - times.get(i - 1);
      squares += (gap - meanGap) * (gap - meanGap);
    }
    assertThat(meanGap).isCloseTo(100_000, within(2_000.0));
    // The standard deviation of an exponential is its mean.
    assertThat(Math.sqrt(squares / 99_999)).isCloseTo(meanGap, within(3_000.0));
  }

  @Test
  void poissonIsFixedByItsSeedAndDiffersByProducer() {
    RateProfile profile = RateProfile.startingAt(START, 10_000);
    List<Long> once = take(new Schedule(new PoissonArrivals(7, 1, 4), profile), profile, 1_000);
    List<Long> again = take(new Schedule(new PoissonArrivals(7, 1, 4), profile), profile, 1_000);
    List<Long> seed = take(new Schedule(new PoissonArrivals(8, 1, 4), profile), profile, 1_000);
    List<Long> other = take(new Schedule(new PoissonArrivals(7, 2, 4), profile), profile, 1_000);
    assertThat(again).isEqualTo(once);
    assertThat(seed).isNotEqualTo(once);
    assertThat(other).isNotEqualTo(once);
  }

  @Test
  void aRateChangeRescalesTheGapsAfterItsInstantOnly() {
    RateProfile before = RateProfile.startingAt(START, 1_000);
    RateProfile after = before.withRate(START + 2_500_000, 2_000);
    Schedule s = new Schedule(new UniformArrivals(0, 1), before);
    List<Long> times = take(s, before, 2);
    // The third message was due at 2 ms, before the change; half of the fourth's gap had passed.
    times.addAll(take(s, after, 3));
    assertThat(times)
        .containsExactly(
            START, START + 1_000_000, START + 2_000_000, START + 2_750_000, START + 3_250_000);
  }

  @Test
  void aRateChangeKeepsTheDebt() {
    RateProfile before = RateProfile.startingAt(START, 1_000);
    Schedule s = new Schedule(new UniformArrivals(0, 1), before);
    take(s, before, 10);
    // Ten sent when a thousand are owed: all 990 stay owed at their own times.
    RateProfile after = before.withRate(START + 1_000_000_000, 10);
    List<Long> owed = take(s, after, 991);
    assertThat(owed.get(0)).isEqualTo(START + 10_000_000);
    assertThat(owed.get(989)).isEqualTo(START + 999_000_000);
    assertThat(owed.get(990)).isEqualTo(START + 1_000_000_000);
    assertThat(s.nextNs(after)).isEqualTo(START + 1_100_000_000);
  }

  @Test
  void rateZeroPausesAndResumes() {
    RateProfile running = RateProfile.startingAt(START, 1_000);
    RateProfile paused = running.withRate(START + 1_500_000, 0);
    Schedule s = new Schedule(new UniformArrivals(0, 1), running);
    take(s, running, 2);
    assertThat(s.nextNs(paused)).isEqualTo(Long.MAX_VALUE);
    RateProfile resumed = paused.withRate(START + 10_000_000, 1_000);
    assertThat(s.nextNs(resumed)).isEqualTo(START + 10_500_000);
  }

  @Test
  void timesNeverGoBackwardsWhateverTheRatesDo() {
    SplittableRandom random = new SplittableRandom(3);
    for (int round = 0; round < 200; round++) {
      RateProfile profile = RateProfile.startingAt(START, 1 + random.nextInt(1_000_000));
      Arrivals arrivals =
          random.nextBoolean()
              ? new UniformArrivals(random.nextInt(4), 4)
              : new PoissonArrivals(round, 0, 4);
      Schedule s = new Schedule(arrivals, profile);
      long last = START;
      for (int i = 0; i < 200; i++) {
        if (random.nextInt(20) == 0) {
          long at = last + random.nextInt(3_000_000) - 1_000_000;
          profile = profile.withRate(at, 1 + random.nextInt(1_000_000));
        }
        long ns = s.nextNs(profile);
        assertThat(ns).isGreaterThanOrEqualTo(last);
        last = ns;
        s.advance();
      }
    }
  }

  @Test
  void unitsAndTimesAreInverse() {
    RateProfile profile =
        RateProfile.startingAt(START, 5_000)
            .withRate(START + 7_000_000, 90_000)
            .withRate(START + 9_000_000, 20);
    for (long ns = START; ns < START + 20_000_000; ns += 333_333) {
      assertThat(profile.timeOf(profile.unitsAt(ns))).isCloseTo(ns, within(1L));
    }
    assertThat(profile.msgsPerSAt(START + 8_000_000)).isEqualTo(90_000);
    assertThat(profile.unitsAt(START - 1)).isZero();
  }

  @Test
  void nonsenseRatesAreRefused() {
    assertThatThrownBy(() -> RateProfile.startingAt(START, -1))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> RateProfile.startingAt(START, Double.NaN))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void whatIsDueIsCountedAsSteppingWould() {
    RateProfile profile =
        RateProfile.startingAt(1_000, 7_000)
            .withRate(300_000_000, 0)
            .withRate(500_000_000, 123_456.7);
    for (long until : new long[] {0, 1_000, 1_001, 299_999_999, 400_000_000, 987_654_321}) {
      Schedule counted = new Schedule(new UniformArrivals(1, 3), profile);
      Schedule stepped = new Schedule(new UniformArrivals(1, 3), profile);
      for (int i = 0; i < 11; i++) {
        counted.advance();
        stepped.advance();
      }
      long n = 0;
      while (stepped.nextNs(profile) < until) {
        stepped.advance();
        n++;
      }
      assertThat(counted.countBefore(profile, until)).isEqualTo(n);
    }
  }

  @Test
  void aRateThatIsNextToNothingIsNeverDue() {
    assertThat(RateProfile.startingAt(5, 1e-12).timeOf(1)).isEqualTo(Long.MAX_VALUE);
  }
}
