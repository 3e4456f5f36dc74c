package io.tidegauge.worker.engine.os;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class HeartbeatTest {
  private static final long STOP_NS_MIN = 200_000_000;
  private static final int STOPS_MAX = 20;

  @Test
  void pausesCountWhereTheyOverlap() {
    PauseLog log = new PauseLog();
    log.note(100, 200);
    log.note(300, 400);
    assertThat(log.overlapNs(0, 1_000)).isEqualTo(200);
    assertThat(log.overlapNs(150, 310)).isEqualTo(60);
    assertThat(log.overlapNs(200, 300)).isZero();
    for (int i = 0; i < 1_000; i++) {
      log.note(1_000, 1_000);
    }
    assertThat(log.overlapNs(0, 1_000)).isZero();
  }

  /**
   * This very process is stopped for 300 ms; whoever asks first afterwards gets it. Time that the
   * heartbeat waits for a CPU does not count, before it stands still as well, so that on a busy
   * machine less than the whole of a stop may be seen: then there are more of them.
   */
  @Test
  void aStoppedProcessIsNoticed() throws Exception {
    Heartbeat heartbeat = new Heartbeat();
    heartbeat.start();
    Thread.sleep(50);
    boolean seen = false;
    for (int stop = 0; stop < STOPS_MAX && !seen; stop++) {
      seen = stopOnce(heartbeat);
    }
    heartbeat.stop();
    assertThat(seen).isTrue();
  }

  private static boolean stopOnce(Heartbeat heartbeat) throws Exception {
    long pid = ProcessHandle.current().pid();
    String script = "kill -STOP " + pid + "; sleep 0.3; kill -CONT " + pid;
    Process stopper = new ProcessBuilder("sh", "-c", script).start();
    long now = System.nanoTime();
    long before = now;
    long paused = 0;
    // On a busy machine this thread may also wait as long for a CPU, which is no pause.
    while (paused < STOP_NS_MIN && stopper.isAlive()) {
      before = now;
      now = System.nanoTime();
      paused = now - before < STOP_NS_MIN ? 0 : heartbeat.pausedNs(before, now);
    }
    assertThat(stopper.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(paused).isBetween(0L, now - before);
    return paused >= STOP_NS_MIN;
  }
}
