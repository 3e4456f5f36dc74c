package io.tidegauge.worker.pulsar;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Waits for something to close, for a bounded time, whatever comes of it. */
final class Closing {
  private Closing() {}

  /** A failure to close concerns nobody any more: what was to be measured has been. */
  static void quietly(CompletableFuture<?> closing, long timeoutMs) {
    try {
      closing.get(timeoutMs, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      // See above.
    }
  }
}
