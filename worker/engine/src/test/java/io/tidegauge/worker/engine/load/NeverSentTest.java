package io.tidegauge.worker.engine.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.schedule.PoissonArrivals;
import io.tidegauge.worker.engine.schedule.RateProfile;
import io.tidegauge.worker.engine.schedule.Schedule;
import io.tidegauge.worker.engine.schedule.UniformArrivals;
import org.junit.jupiter.api.Test;

class NeverSentTest {
  private static final long SECOND_NS = 1_000_000_000L;

  @Test
  void hugeNumbersAreExact() {
    RateProfile profile = RateProfile.startingAt(0, 500e6);
    Window window = Window.NONE.next(SECOND_NS, 0);
    NeverSent neverSent = new NeverSent(profile, window, 10 * SECOND_NS - 1, 11 * SECOND_NS);
    Schedule schedule = new Schedule(new UniformArrivals(0, 2), profile);
    assertThat(neverSent.count(schedule)).isEqualTo(9 * 250_000_000L);
    assertThat(neverSent.isEstimated()).isFalse();
  }

  @Test
  void onlyTheWindowCounts() {
    RateProfile profile = RateProfile.startingAt(0, 1_000);
    Schedule uniform = new Schedule(new UniformArrivals(0, 1), profile);
    Window window = Window.NONE.next(SECOND_NS, 2 * SECOND_NS);
    assertThat(new NeverSent(profile, window, 5 * SECOND_NS, 6 * SECOND_NS).count(uniform))
        .isEqualTo(1_000);
    assertThat(new NeverSent(profile, Window.NONE, 5 * SECOND_NS, 6 * SECOND_NS).count(uniform))
        .isZero();
  }

  @Test
  void randomOnesAreDrawnUnlessTheyAreTooMany() {
    long now = System.nanoTime();
    Window window = Window.NONE.next(now - SECOND_NS, 0);
    NeverSent few = new NeverSent(RateProfile.startingAt(now - SECOND_NS, 5_000), window, now, now);
    Schedule schedule =
        new Schedule(new PoissonArrivals(7, 0, 2), RateProfile.startingAt(now - SECOND_NS, 5_000));
    assertThat((double) few.count(schedule)).isCloseTo(2_500, within(250.0));
    assertThat(few.isEstimated()).isFalse();

    RateProfile fast = RateProfile.startingAt(now - SECOND_NS, 1e9);
    NeverSent many = new NeverSent(fast, window, now, now);
    Schedule endless = new Schedule(new PoissonArrivals(7, 0, 2), fast);
    assertThat((double) many.count(endless)).isCloseTo(500e6, within(5e6));
    assertThat(many.isEstimated()).isTrue();
  }
}
