package io.tidegauge.worker.engine.load;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class OwnLagTest {
  private final OwnLag lag = new OwnLag();

  @Test
  void aSmallDebtIsOwnLag() {
    assertThat(lag.of(4_000)).isEqualTo(4_000);
  }

  @Test
  void aStalledSystemIsNoOwnLagUntilTheProducerHasCaughtUp() {
    lag.blockedBySystem(1_000_000);
    for (long debt = 1_000_000; debt >= 0; debt -= 10_000) {
      assertThat(lag.of(debt)).isZero();
    }
    // The excuse is used up: a debt that comes later has none.
    assertThat(lag.of(50_000)).isEqualTo(50_000);
  }

  @Test
  void aGeneratorWithoutCpuLags() {
    // Runnable without a CPU: the debt grows and nothing was blocked.
    assertThat(lag.of(80_000_000)).isEqualTo(80_000_000);
  }

  @Test
  void lagOnTopOfAStallShows() {
    lag.blockedBySystem(1_000_000);
    assertThat(lag.of(1_000_000)).isZero();
    // Too slow to catch up: the debt grows by more than the system's doing.
    assertThat(lag.of(1_300_000)).isEqualTo(300_000);
    assertThat(lag.of(1_200_000)).isEqualTo(200_000);
    assertThat(lag.of(900_000)).isZero();
  }

  @Test
  void lagFromBeforeAStallIsNotExcusedByIt() {
    assertThat(lag.of(500_000)).isEqualTo(500_000);
    lag.blockedBySystem(1_000_000);
    assertThat(lag.of(1_500_000)).isEqualTo(500_000);
  }

  @Test
  void anExcuseEndsWhenTheProducerWaitsForItsNextMessage() {
    lag.blockedBySystem(1_000_000);
    lag.caughtUp();
    assertThat(lag.of(2_000)).isEqualTo(2_000);
  }

  @Test
  void timeWithoutCpuAndInCollectionsIsNoExcuse() {
    assertThat(OwnLag.excusable(1_000, 0, 0)).isEqualTo(1_000);
    assertThat(OwnLag.excusable(1_000, 300, 200)).isEqualTo(500);
    assertThat(OwnLag.excusable(1_000, 5_000, 0)).isZero();
    assertThat(OwnLag.excusable(1_000, -5, -5)).isEqualTo(1_000);
  }

  @Test
  void blockingIsExcusedButForWhatTheThreadsWereKeptFrom() {
    Blocking blocking = new Blocking();
    blocking.begin(1_000_000);
    assertThat(blocking.wantsLook(1_100_000)).isFalse();
    assertThat(blocking.wantsLook(1_600_000)).isTrue();
    blocking.look(100, 1_000, 5_000);
    assertThat(blocking.wantsLook(1_700_000)).isFalse();
    // The acknowledging thread waited longest for a CPU: 400 us; and a pause of 100 us.
    assertThat(blocking.end(3_000_000, 200_100, 401_000, 105_000)).isEqualTo(1_500_000);
    assertThat(blocking.isActive()).isFalse();
  }

  @Test
  void aShortBlockingIsExcusedWhole() {
    Blocking blocking = new Blocking();
    blocking.begin(1_000_000);
    assertThat(blocking.end(1_300_000, 0, 0, 0)).isEqualTo(300_000);
  }
}
