package io.tidegauge.worker.app;

import io.tidegauge.worker.api.Threads;
import java.util.function.Consumer;

/**
 * The controller's lease on this process. It ends the process when the controller's stream breaks,
 * stays silent for longer than it promised, or was never opened.
 */
final class Lease {
  /** Time that a new worker waits for its controller. */
  static final long FIRST_MS = 30_000;

  private static final long CHECK_MS = 50;

  private final Consumer<String> end;
  private long deadlineNs;
  private String reason;
  private boolean released;

  Lease(Consumer<String> end) {
    this.end = end;
  }

  /** Begins to watch. */
  void startWaitingForController() {
    startWaitingForController(FIRST_MS);
  }

  void startWaitingForController(long firstMs) {
    extend(firstMs, "no controller came within " + firstMs + " ms");
    Threads.start("tg-lease", this::watch);
  }

  /** The controller lives, and promises to say so again within this time. */
  void renew(long leaseMs) {
    extend(leaseMs, "the controller was silent for " + leaseMs + " ms");
  }

  private synchronized void extend(long ms, String why) {
    deadlineNs = System.nanoTime() + ms * 1_000_000;
    reason = why;
  }

  /** The controller's stream is gone. */
  void broken(String why) {
    if (!isReleased()) {
      end.accept("the controller's lease ended: " + why);
    }
  }

  /** The process ends by itself: nothing is expected of the controller any more. */
  synchronized void release() {
    released = true;
  }

  private synchronized boolean isReleased() {
    return released;
  }

  private void watch() {
    while (true) {
      try {
        Thread.sleep(CHECK_MS);
      } catch (InterruptedException e) {
        return;
      }
      String why = overdue();
      if (why != null) {
        end.accept(why);
        return;
      }
    }
  }

  synchronized String overdue() {
    return !released && System.nanoTime() - deadlineNs > 0 ? reason : null;
  }
}
