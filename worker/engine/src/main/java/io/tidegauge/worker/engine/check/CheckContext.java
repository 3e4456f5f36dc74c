package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.util.function.Supplier;

/**
 * What all consumers of a trial know.
 *
 * @param work what they do with each message
 */
public record CheckContext(
    long trialId,
    PayloadPool pool,
    Supplier<Window> window,
    ErrorLog errors,
    ReceivingThreads threads,
    ConsumerWork work) {

  /** With threads of its own, and consumers that take the next message at once. */
  public CheckContext(long trialId, PayloadPool pool, Supplier<Window> window, ErrorLog errors) {
    this(trialId, pool, window, errors, new ReceivingThreads(), ConsumerWork.NONE);
  }
}
