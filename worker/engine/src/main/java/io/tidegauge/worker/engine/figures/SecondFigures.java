package io.tidegauge.worker.engine.figures;

import java.util.List;

/**
 * What happened in one second of a trial, by the time it happened. Histograms are encoded. {@code
 * busiestConsumer} is "" if none ran.
 */
public record SecondFigures(
    long second,
    long fromMonoNs,
    long untilMonoNs,
    double scheduledMsgsPerS,
    long sent,
    long acked,
    long failed,
    long ackedBytes,
    long inFlight,
    long blockedNs,
    long ownLagNsMax,
    byte[] response,
    byte[] service,
    byte[] delay,
    List<SubscriptionSecond> subscriptions,
    long workerCpuNs,
    long gcPauseNs,
    long heapUsedBytes,
    String busiestConsumer,
    long busiestConsumerBusyNs,
    long jitNs) {

  /** About how much memory it takes. */
  public long bytes() {
    long n = 300L + response.length + service.length + delay.length;
    for (SubscriptionSecond s : subscriptions) {
      n += 150L + s.endToEnd().length;
    }
    return n;
  }
}
