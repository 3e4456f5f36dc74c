package io.tidegauge.worker.engine.figures;

import java.util.List;

/** Everything known about a trial. */
public record TotalFigures(
    long sent,
    long acked,
    long failed,
    long unresolved,
    WindowFigures window,
    List<SubscriptionTotals> subscriptions,
    List<ErrorLog.ErrorCount> errors,
    long workerCpuNs,
    long gcPauseNs,
    long residentBytes,
    long seconds) {}
