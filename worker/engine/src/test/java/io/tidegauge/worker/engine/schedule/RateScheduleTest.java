package io.tidegauge.worker.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;

class RateScheduleTest {
  private static final long S = 1_000_000_000L;
  private static final long START = 5 * S;

  private static RateSchedule.Phase level(double rate, double seconds, int record) {
    return new RateSchedule.Phase(rate, rate, (long) (seconds * S), record);
  }

  private static long sentBetween(RateProfile profile, long from, long until) {
    Schedule schedule = new Schedule(new UniformArrivals(0, 1), profile);
    return schedule.countBefore(profile, until) - schedule.countBefore(profile, from);
  }

  @Test
  void stepsSendWhatEachOfThemSays() {
    RateSchedule steps = new RateSchedule(List.of(level(100, 10, 0), level(500, 4, 1)), false);
    RateProfile profile = RateProfile.startingAt(START, 100).withSchedule(START + 3 * S, steps);
    assertThat(sentBetween(profile, START, START + 3 * S)).isEqualTo(300);
    assertThat(sentBetween(profile, START + 3 * S, START + 13 * S)).isEqualTo(1_000);
    assertThat(sentBetween(profile, START + 13 * S, START + 17 * S)).isEqualTo(2_000);
    // The last rate goes on.
    assertThat(sentBetween(profile, START + 17 * S, START + 19 * S)).isEqualTo(1_000);
    assertThat(steps.recordAt(0)).isZero();
    assertThat(steps.recordAt(10 * S - 1)).isZero();
    assertThat(steps.recordAt(10 * S)).isEqualTo(1);
    assertThat(steps.recordAt(99 * S)).isEqualTo(1);
  }

  @Test
  void aRampRisesEvenlyAndItsTimesInvertItsLoad() {
    RateSchedule ramp =
        new RateSchedule(List.of(new RateSchedule.Phase(1_000, 5_000, 60 * S, 0)), false);
    assertThat(ramp.unitsAt(60 * S)).isCloseTo(180_000, within(1e-6));
    assertThat(ramp.msgsPerSAt(30 * S)).isCloseTo(3_000, within(1e-6));
    for (double units = 0; units < 200_000; units += 997) {
      assertThat(ramp.unitsAt(ramp.timeOf(units))).isCloseTo(units, within(1e-3));
    }
  }

  @Test
  void aFallingRampReachesZeroAndThenNothingIsDue() {
    RateSchedule ramp =
        new RateSchedule(List.of(new RateSchedule.Phase(1_000, 0, 10 * S, 0)), false);
    assertThat(ramp.timeOf(5_000)).isEqualTo(Long.MAX_VALUE);
    assertThat(ramp.timeOf(4_999)).isBetween(9 * S, 10 * S);
  }

  @Test
  void aBurstRepeatsForDaysInConstantMemory() {
    RateSchedule burst = new RateSchedule(List.of(level(1_000, 28, 0), level(5_000, 2, 1)), true);
    long cycleMessages = 28 * 1_000 + 2 * 5_000;
    long day = 86_400 * S;
    RateProfile profile = RateProfile.startingAt(START, 1_000).withSchedule(START, burst);
    assertThat(sentBetween(profile, START, START + 2 * day)).isEqualTo(2 * 2_880 * cycleMessages);
    assertThat(burst.recordAt(2 * day - S)).isEqualTo(1);
    assertThat(burst.recordAt(2 * day)).isZero();
    assertThat(profile.msgsPerSAt(START + day + 29 * S)).isEqualTo(5_000);
    // Exact to the microsecond after a day: no message slips into another phase.
    double units = 2_880.0 * cycleMessages;
    assertThat(burst.timeOf(units)).isCloseTo(day, within(1_000L));
  }

  @Test
  void aPauseInAScheduleSendsNothing() {
    RateSchedule pause =
        new RateSchedule(List.of(level(100, 1, 0), level(0, 5, 1), level(100, 1, 2)), false);
    assertThat(pause.timeOf(99)).isEqualTo(990_000_000L);
    assertThat(pause.timeOf(100)).isEqualTo(6 * S);
  }

  @Test
  void afterALastPauseNothingIsDue() {
    RateSchedule ending = new RateSchedule(List.of(level(100, 1, 0), level(0, 5, 1)), false);
    assertThat(ending.timeOf(99)).isEqualTo(990_000_000L);
    assertThat(ending.timeOf(100)).isEqualTo(Long.MAX_VALUE);
    assertThat(ending.timeOf(250)).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void burstsFromNothingSendInBurstsOnly() {
    RateSchedule burst = new RateSchedule(List.of(level(0, 3, 0), level(50_000, 2, 1)), true);
    for (long unit : new long[] {0, 1, 99_999, 100_000, 100_001, 12_345_678_901L}) {
      long ns = burst.timeOf(unit);
      assertThat(ns / (5 * S)).as("cycle of %s", unit).isEqualTo(unit / 100_000);
      assertThat(ns % (5 * S)).as("place of %s", unit).isGreaterThanOrEqualTo(3 * S);
    }
    RateSchedule last = new RateSchedule(List.of(level(1, 0.1, 0), level(0, 3, 1)), true);
    for (int i = 0; i < 1_000; i++) {
      assertThat(last.timeOf(i * 0.1) % 3_100_000_000L).isLessThanOrEqualTo(100_000_000L);
    }
  }

  @Test
  void aRampFromNothingHasItsMessagesInside() {
    RateSchedule ramp =
        new RateSchedule(List.of(new RateSchedule.Phase(0, 1_000, 20 * S, 0)), false);
    assertThat(ramp.timeOf(0)).isZero();
    assertThat(ramp.timeOf(2_500)).isEqualTo(10 * S);
    assertThat(ramp.timeOf(9_999)).isLessThan(20 * S);
    assertThat(ramp.timeOf(10_000)).isEqualTo(20 * S);
  }

  @Test
  void whatMakesNoSenseIsRefused() {
    assertThatThrownBy(() -> new RateSchedule(List.of(level(0, 5, 0)), false))
        .hasMessageContaining("send something");
    assertThatThrownBy(() -> level(-1, 5, 0)).hasMessageContaining("0 or more");
    assertThatThrownBy(() -> level(1, 0, 0)).hasMessageContaining("length");
    assertThatThrownBy(() -> level(1, 1, RateSchedule.RECORDS_MAX)).hasMessageContaining("record");
    RateSchedule fine = new RateSchedule(List.of(level(1, 5, 0)), false);
    RateProfile profile = RateProfile.startingAt(0, 1).withSchedule(S, fine);
    assertThatThrownBy(() -> profile.withRate(2 * S, 5)).hasMessageContaining("schedule");
  }
}
