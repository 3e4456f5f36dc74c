package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.util.List;
import java.util.function.Supplier;

/**
 * What all consumers of a trial know.
 *
 * @param processingNs for which they process each message, all equally likely; empty = not at all
 */
public record CheckContext(
    long trialId,
    PayloadPool pool,
    Supplier<Window> window,
    ErrorLog errors,
    ReceivingThreads threads,
    List<Long> processingNs) {

  /** With threads of its own, and consumers that process nothing. */
  public CheckContext(long trialId, PayloadPool pool, Supplier<Window> window, ErrorLog errors) {
    this(trialId, pool, window, errors, new ReceivingThreads(), List.of());
  }
}
