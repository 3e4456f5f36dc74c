package io.tidegauge.worker.app;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.opentest4j.TestAbortedException;

/**
 * Whether the machine left the test alone while it judged times, by the kernel's own account of the
 * time in which some process waited for a CPU.
 */
final class Calm {
  private static final double WAITED_SHARE_MAX = 0.1;
  private final long beganNs = System.nanoTime();
  private final long waitedUs = waitedUs();

  /** Judges; what fails on a machine that was busy since this was made says nothing. */
  void judge(Runnable assertions) {
    double share = (waitedUs() - waitedUs) * 1e3 / (System.nanoTime() - beganNs);
    try {
      assertions.run();
    } catch (AssertionError e) {
      if (share > WAITED_SHARE_MAX) {
        throw new TestAbortedException(
            "%.0f %% of the time some process waited for a CPU".formatted(100 * share), e);
      }
      throw e;
    }
  }

  /** 0 where the kernel does not say. */
  private static long waitedUs() {
    try {
      String some = Files.readAllLines(Path.of("/proc/pressure/cpu")).get(0);
      return Long.parseLong(some.substring(some.indexOf("total=") + "total=".length()));
    } catch (IOException e) {
      return 0;
    }
  }
}
