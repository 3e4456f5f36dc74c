package io.tidegauge.worker.engine.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.tidegauge.worker.engine.os.TaskClock;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Waiting on a simulated clock, whose sleeps end late as on a real machine, and once on a real. */
class WaiterTest {
  private static final long SECOND_NS = 1_000_000_000L;
  private static final long READ_NS = 25;
  private static final double DEFAULT = 0.05;

  /** Counts what is slept and spun. Sleeps end late by a least time and some more by chance. */
  private static final class Simulated implements Waiter.Clock {
    private final Random random = new Random(7);
    private final long lateNs;
    private long now = 5_000_000;
    private long sleeps;
    private long spunNs;
    private long spinBeganNs;
    private long wakeAfterNs = Long.MAX_VALUE;

    Simulated(long lateNs) {
      this.lateNs = lateNs;
    }

    @Override
    public long nanoTime() {
      now += READ_NS;
      return now;
    }

    @Override
    public void park(long ns) {
      sleeps++;
      double more = -Math.log(1 - random.nextDouble()) * lateNs / 4;
      now += Math.min(wakeAfterNs, ns + lateNs * 3 / 4 + (long) more);
    }

    @Override
    public void spin() {
      long was = now;
      now += 40;
      spunNs += now - was + READ_NS;
    }
  }

  /** What became of a schedule with even gaps. */
  private record Run(Simulated clock, long tookNs, long[] delaysNs) {
    double spunShare() {
      return (double) clock.spunNs / tookNs;
    }

    double sleepsPerS() {
      return (double) clock.sleeps * SECOND_NS / tookNs;
    }

    long delayNs(double share) {
      return delaysNs[(int) (share * (delaysNs.length - 1))];
    }
  }

  private static Run run(Simulated clock, double share, long msgsPerS, int messages) {
    return run(new Waiter(share, clock), clock, msgsPerS, messages);
  }

  private static Run run(Waiter waiter, Simulated clock, long msgsPerS, int messages) {
    long gap = SECOND_NS / msgsPerS;
    long start = clock.nanoTime();
    long spunBefore = clock.spunNs;
    long[] delays = new long[messages];
    for (int i = 0; i < messages; i++) {
      long due = start + (i + 1) * gap;
      long now = clock.nanoTime();
      for (int waits = 0; now < due; waits++) {
        assertThat(waits).isLessThan(10 + (int) (gap / Waiter.PARK_NS_MAX));
        now = waiter.towards(due, now);
      }
      delays[i] = now - due;
    }
    long took = clock.now - start;
    assertThat(clock.spunNs).isGreaterThanOrEqualTo(spunBefore);
    Arrays.sort(delays, messages / 2, messages);
    return new Run(clock, took, Arrays.copyOfRange(delays, messages / 2, messages));
  }

  @ParameterizedTest
  @CsvSource({
    "0, 20000",
    "0.01, 20000",
    "0.05, 20000",
    "0.05, 100000",
    "0.05, 500000",
    "0.3, 100000"
  })
  void noMoreIsSpunAwayThanMayBe(double share, long msgsPerS) {
    for (long late : new long[] {1_000, 4_000, 17_000, 60_000}) {
      Run run = run(new Simulated(late), share, msgsPerS, 200_000);
      double savedBefore = share * Waiter.SAVING_NS / run.tookNs;
      // Each spin may go on for one turn after the instant.
      assertThat(run.spunShare()).isLessThanOrEqualTo(1.05 * (share + savedBefore));
    }
  }

  @Test
  void whatMayBeSpunIsUsedWhereItHelps() {
    Run none = run(new Simulated(4_000), 0, 20_000, 100_000);
    Run some = run(new Simulated(4_000), DEFAULT, 20_000, 100_000);
    assertThat(none.clock.spunNs).isZero();
    assertThat(none.delayNs(0.5)).isBetween(3_000L, 6_000L);
    assertThat(some.delayNs(0.5)).isLessThan(none.delayNs(0.5) / 4);
  }

  @Test
  void aSpinEndsWhenTheMessageIsDueAndNotBefore() {
    Simulated clock = new Simulated(4_000);
    Waiter waiter = new Waiter(1, clock);
    for (int i = 0; i < 1_000; i++) {
      long now = clock.nanoTime();
      assertThat(waiter.towards(now + 3_000, now)).isBetween(now + 3_000, now + 3_100);
    }
    assertThat(clock.sleeps).isZero();
  }

  @Test
  void whatIsDueIsNotWaitedFor() {
    Simulated clock = new Simulated(4_000);
    Waiter waiter = new Waiter(1, clock);
    assertThat(waiter.towards(clock.now, clock.now)).isEqualTo(clock.now);
    assertThat(clock.sleeps + clock.spunNs).isZero();
  }

  @ParameterizedTest
  @ValueSource(longs = {1_000, 4_000, 17_000, 55_000})
  void howLateSleepsEndIsLearnt(long lateNs) {
    Run run = run(new Simulated(lateNs), DEFAULT, 500, 5_000);
    assertThat(run.delayNs(0.5)).isLessThan(200);
    assertThat(run.delayNs(0.8)).isLessThan(lateNs / 2);
    assertThat(run.spunShare()).isLessThan(DEFAULT);
  }

  @Test
  void atAHighRateManyAreSentAfterOneSleep() {
    Run run = run(new Simulated(4_000), DEFAULT, 100_000, 300_000);
    assertThat(run.sleepsPerS()).isLessThan(1.05 * SECOND_NS / Waiter.REST_NS_MIN);
    assertThat(run.delayNs(0.5)).isLessThan(10_000);
    assertThat(run.delayNs(0.99)).isLessThan(30_000);
  }

  @ParameterizedTest
  @CsvSource({"0.05, 4000", "0.05, 17000", "0, 17000"})
  void gatheringEndsSoonAfterItsInstantAndSpinsLittle(double share, long lateNs) {
    Simulated clock = new Simulated(lateNs);
    Waiter waiter = new Waiter(share, clock);
    long began = clock.now;
    long lateSumNs = 0;
    for (int i = 0; i < 10_000; i++) {
      long now = clock.nanoTime();
      long until = now + 100_000;
      long ended = waiter.gatherUntil(until, now);
      assertThat(ended).isBetween(until, until + 4 * lateNs);
      lateSumNs += ended - until;
    }
    assertThat(clock.sleeps).isEqualTo(10_000);
    assertThat(clock.spunNs).isLessThan((clock.now - began) / 50);
    // Where nothing may be spun, a sleep is not cut short: it would end too early.
    assertThat(lateSumNs / 10_000.0 / lateNs)
        .isBetween(share > 0 ? 0.05 : 0.9, share > 0 ? 0.25 : 1.1);
  }

  @Test
  void aThreadThatIsWokenWhileItGathersLooksAtOnce() {
    Simulated clock = new Simulated(4_000);
    Waiter waiter = new Waiter(DEFAULT, clock);
    clock.wakeAfterNs = 10_000;
    long now = clock.nanoTime();
    assertThat(waiter.gatherUntil(now + 100_000, now)).isLessThan(now + 11_000);
    assertThat(clock.spunNs).isZero();
  }

  @Test
  void dearSleepsAreRarer() {
    Run cheap = run(new Simulated(4_000), DEFAULT, 100_000, 300_000);
    Run dear = run(new Simulated(17_000), DEFAULT, 100_000, 300_000);
    assertThat(dear.sleepsPerS()).isLessThan(cheap.sleepsPerS() / 2);
  }

  @Test
  void aWholeCpuMeetsEveryInstant() {
    Run run = run(new Simulated(4_000), 1, 100_000, 100_000);
    assertThat(run.delayNs(0.99)).isLessThan(200);
  }

  @Test
  void beingWokenTeachesNothing() {
    Simulated clock = new Simulated(4_000);
    Waiter waiter = new Waiter(0, clock);
    run(waiter, clock, 1_000, 2_000);
    long rest = waiter.restNs();
    clock.wakeAfterNs = 100_000;
    for (int i = 0; i < 1_000; i++) {
      long now = clock.nanoTime();
      waiter.towards(now + SECOND_NS, now);
    }
    assertThat(waiter.restNs()).isEqualTo(rest);
  }

  /**
   * CPU of this thread for one and the same schedule, with the default share and with a whole CPU.
   */
  @Test
  void theDefaultCostsLessThanAWholeCpu() {
    TaskClock.sharpenTimers();
    TaskClock account = TaskClock.ofCurrentThread();
    long[] cpuNs = new long[2];
    long began = System.nanoTime();
    for (int round = 0; round < 5; round++) {
      cpuNs[0] += cpuOf(DEFAULT);
      cpuNs[1] += cpuOf(1);
    }
    double took = System.nanoTime() - began;
    double waited = account.cpuWaitNs() / took;
    account.close();
    assumeThat(waited).as("share of the time without a CPU: the machine is busy").isLessThan(0.02);
    assertThat((double) cpuNs[0] / cpuNs[1]).isLessThan(0.85);
  }

  private static long cpuOf(double share) {
    Waiter waiter = new Waiter(share);
    long gap = 20_000;
    long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    long due = System.nanoTime();
    for (int i = 0; i < 10_000; i++) {
      due += gap;
      long now = System.nanoTime();
      while (now < due) {
        now = waiter.towards(due, now);
      }
    }
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before;
  }
}
