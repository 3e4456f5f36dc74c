package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.util.function.Supplier;

/** What all consumers of a trial know. */
public record CheckContext(
    long trialId,
    PayloadPool pool,
    Supplier<Window> window,
    ErrorLog errors,
    ReceivingThreads threads) {

  /** With threads of its own. */
  public CheckContext(long trialId, PayloadPool pool, Supplier<Window> window, ErrorLog errors) {
    this(trialId, pool, window, errors, new ReceivingThreads());
  }
}
