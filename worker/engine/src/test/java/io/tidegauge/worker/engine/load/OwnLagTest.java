package io.tidegauge.worker.engine.load;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class OwnLagTest {
  private final OwnLag lag = new OwnLag();

  @Test
  void aSmallDebtIsOwnLag() {
    assertThat(lag.of(4_000, 0)).isEqualTo(4_000);
  }

  @Test
  void aStalledSystemIsNoOwnLagUntilTheProducerHasCaughtUp() {
    lag.blockedBySystem(1_000_000, 0);
    for (long debt = 1_000_000; debt >= 0; debt -= 10_000) {
      assertThat(lag.of(debt, 0)).isZero();
    }
    // The excuse is used up: a debt that comes later has none.
    assertThat(lag.of(50_000, 0)).isEqualTo(50_000);
  }

  @Test
  void aGeneratorWithoutCpuLags() {
    // Runnable without a CPU: the debt grows and nothing was blocked.
    assertThat(lag.of(80_000_000, 0)).isEqualTo(80_000_000);
  }

  @Test
  void lagOnTopOfAStallShows() {
    lag.blockedBySystem(1_000_000, 0);
    assertThat(lag.of(1_000_000, 0)).isZero();
    // Too slow to catch up: the debt grows by more than the system's doing.
    assertThat(lag.of(1_300_000, 0)).isEqualTo(300_000);
    assertThat(lag.of(1_200_000, 0)).isEqualTo(200_000);
    assertThat(lag.of(900_000, 0)).isZero();
  }

  @Test
  void lagFromBeforeAStallIsNotExcusedByIt() {
    assertThat(lag.of(500_000, 0)).isEqualTo(500_000);
    lag.blockedBySystem(1_000_000, 0);
    assertThat(lag.of(1_500_000, 0)).isEqualTo(500_000);
  }

  @Test
  void anExcuseEndsWhenTheProducerWaitsForItsNextMessage() {
    lag.blockedBySystem(1_000_000, 0);
    assertThat(lag.of(2_000, 0)).isZero();
    assertThat(lag.of(2_000, 1)).isEqualTo(2_000);
    lag.blockedBySystem(1_000_000, 1);
    lag.blockedBySystem(5_000, 2);
    assertThat(lag.of(7_000, 2)).isEqualTo(2_000);
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
    blocking.seen(2_000_000);
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

  @Test
  void aPauseInTheFirstMomentsOfABlockingIsNotExcused() {
    Blocking blocking = new Blocking();
    blocking.begin(1_000_000);
    blocking.seen(1_200_000);
    // The process stands still for 300 ms, and nobody has looked at any account yet.
    blocking.seen(301_400_000);
    assertThat(blocking.end(301_600_000, 0, 0, 0)).isEqualTo(600_000);
  }

  @Test
  void aPauseLaterInABlockingIsNotExcusedAndNotCountedTwice() {
    Blocking blocking = new Blocking();
    blocking.begin(0);
    for (long ns = 0; ns <= 5_000_000; ns += 250_000) {
      blocking.seen(ns);
    }
    blocking.look(0, 0, 0);
    blocking.seen(105_000_000);
    // The kernel saw the same 100 ms as a wait for a CPU.
    long excused = blocking.end(105_200_000, 100_000_000, 0, 0);
    assertThat(excused).isBetween(5_000_000L, 5_500_000L);
  }

  @Test
  void aThreadOfManyProducersSleepsLonger() {
    Blocking blocking = new Blocking();
    blocking.sleepsFor(7_000_000);
    blocking.begin(0);
    blocking.seen(7_200_000);
    blocking.seen(14_400_000);
    assertThat(blocking.end(21_600_000, 0, 0, 0)).isEqualTo(21_600_000);
    blocking.begin(100_000_000);
    blocking.seen(207_000_000);
    assertThat(blocking.end(207_000_000, 0, 0, 0)).isEqualTo(7_000_000);
  }

  @Test
  void anotherProducersSystemIsNoPause() {
    Blocking blocking = new Blocking();
    blocking.begin(0);
    blocking.skip(50_000_000);
    blocking.seen(50_500_000);
    assertThat(blocking.end(50_700_000, 0, 0, 0)).isEqualTo(50_700_000);
  }

  @Test
  void aSendIsJudgedByWhatWasKnownBeforeIt() {
    Accounts accounts = new Accounts();
    assertThat(accounts.before(5).cpuWaitNs()).isZero();
    for (int i = 1; i <= 300; i++) {
      accounts.note(i * 100, i, 2L * i);
    }
    // Readings during the send say nothing of its beginning.
    assertThat(accounts.before(29_850)).isEqualTo(new Accounts.Reading(29_800, 298, 596));
    assertThat(accounts.before(30_000).cpuWaitNs()).isEqualTo(300);
    assertThat(accounts.before(0).cpuWaitNs()).isEqualTo(173);
  }
}
