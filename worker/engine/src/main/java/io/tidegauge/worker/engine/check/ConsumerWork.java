package io.tidegauge.worker.engine.check;

import java.util.List;

/**
 * What each consumer does with a message before it acknowledges it.
 *
 * @param timesNs for which it processes each, all equally likely; empty = not at all
 * @param onCpu whether its thread computes for that time, of CPU time; else it waits
 * @param msgsPerSMax messages a second that each consumer takes at most; 0 = as many as there are
 */
public record ConsumerWork(List<Long> timesNs, boolean onCpu, double msgsPerSMax) {
  public static final ConsumerWork NONE = new ConsumerWork(List.of(), false, 0);

  /** Throws {@link IllegalArgumentException} if there is no such rate. */
  public ConsumerWork {
    timesNs = List.copyOf(timesNs);
    if (!(msgsPerSMax >= 0)) {
      throw new IllegalArgumentException("consumer_msgs_per_s_max must be 0 or more");
    }
  }

  /** Whether consumers take the next message at once. */
  public boolean isNone() {
    return timesNs.isEmpty() && msgsPerSMax == 0;
  }
}
