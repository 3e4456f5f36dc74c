package io.tidegauge.worker.engine.os;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class HeartbeatTest {
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

  /** This very process is stopped for 300 ms; whoever asks first afterwards is told. */
  @Test
  void aStoppedProcessIsNoticed() throws Exception {
    Heartbeat heartbeat = new Heartbeat();
    heartbeat.start();
    Thread.sleep(50);
    long pid = ProcessHandle.current().pid();
    String script = "kill -STOP " + pid + "; sleep 0.3; kill -CONT " + pid;
    long from = System.nanoTime();
    Process stopper = new ProcessBuilder("sh", "-c", script).start();
    long before = from;
    long now = from;
    long paused = 0;
    // On a busy machine this thread may also wait as long for a CPU, which is no pause.
    while (paused < 200_000_000 && now - from < 60_000_000_000L) {
      before = now;
      now = System.nanoTime();
      paused = now - before < 200_000_000 ? 0 : heartbeat.pausedNs(before, now);
    }
    heartbeat.stop();
    assertThat(stopper.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(paused).isBetween(200_000_000L, now - before);
  }
}
