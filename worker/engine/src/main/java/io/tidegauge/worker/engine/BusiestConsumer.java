package io.tidegauge.worker.engine;

import io.tidegauge.worker.engine.check.Handovers;
import io.tidegauge.worker.engine.check.ReceiveRecorder;
import io.tidegauge.worker.engine.check.ReceivingThread;
import io.tidegauge.worker.engine.check.Subscription;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds for each second which consumer was the busiest: how long its receiving thread ran or waited
 * for a CPU. Used by the sampler's thread only.
 *
 * <p>A thread that serves several consumers makes all of them wait, so its whole time counts for
 * each. Of threads that serve a consumer by turns each counts by its share of their messages.
 */
final class BusiestConsumer {
  /** Share of a second from which a consumer has no time left. */
  private static final double FULL = 0.9;

  /** The consumer's name is "" if there is none. */
  record Found(String consumer, long busyNs) {
    static final Found NONE = new Found("", 0);
  }

  /** What one thread did in a second, and for how many consumers it ever worked. */
  private static final class ThreadSecond {
    final long busyNs;
    long received;
    int consumers;

    ThreadSecond(long busyNs) {
      this.busyNs = busyNs;
    }
  }

  private final List<Subscription> subscriptions;
  private final List<List<Integer>> numbers;
  private final int topics;
  private final int consumersPerSubscription;
  private final Map<Handovers.Part, Long> past = new HashMap<>();

  /**
   * @param numbers of each subscription its consumers' numbers, counted topic by topic
   */
  BusiestConsumer(
      List<Subscription> subscriptions,
      List<List<Integer>> numbers,
      int topics,
      int consumersPerSubscription) {
    this.subscriptions = subscriptions;
    this.numbers = numbers;
    this.topics = topics;
    this.consumersPerSubscription = Math.max(1, consumersPerSubscription);
    // Time before the first second counts for none.
    busiest(Long.MAX_VALUE, List.of());
  }

  /**
   * The busiest since the last call, {@code lengthNs} ago. Of several without time left it is one
   * of the subscription that is furthest behind.
   *
   * @param backlogs of the subscriptions, in their order; those missing have none
   */
  Found busiest(long lengthNs, List<Long> backlogs) {
    Map<Handovers.Part, Long> received = new HashMap<>();
    Map<ReceivingThread, ThreadSecond> threads = new HashMap<>();
    for (Subscription s : subscriptions) {
      for (ReceiveRecorder r : s.recorders()) {
        for (Handovers.Part part : r.handovers().parts()) {
          long now = r.handovers().received(part, r.get(ReceiveRecorder.RECEIVED));
          long before = past.getOrDefault(part, 0L);
          past.put(part, now);
          received.put(part, Math.max(0, now - before));
          ThreadSecond thread =
              threads.computeIfAbsent(part.thread(), t -> new ThreadSecond(t.busyNs(lengthNs)));
          thread.received += received.get(part);
          thread.consumers++;
        }
      }
    }
    return choose(received, threads, lengthNs, backlogs);
  }

  private Found choose(
      Map<Handovers.Part, Long> received,
      Map<ReceivingThread, ThreadSecond> threads,
      long lengthNs,
      List<Long> backlogs) {
    Found found = Found.NONE;
    long foundBacklog = -1;
    for (int s = 0; s < subscriptions.size(); s++) {
      List<ReceiveRecorder> recorders = new ArrayList<>(subscriptions.get(s).recorders());
      for (int c = 0; c < recorders.size(); c++) {
        Handovers handovers = recorders.get(c).handovers();
        if (handovers.current() == null) {
          continue;
        }
        long busyNs = busyNs(handovers, received, threads);
        long backlog = busyNs >= FULL * lengthNs ? (s < backlogs.size() ? backlogs.get(s) : 0) : -1;
        if (backlog > foundBacklog || (backlog == foundBacklog && busyNs > found.busyNs())) {
          ThreadSecond thread = threads.get(handovers.current().thread());
          int others = thread == null ? 0 : thread.consumers - 1;
          found = new Found(name(subscriptions.get(s), numbers.get(s).get(c), others), busyNs);
          foundBacklog = backlog;
        }
      }
    }
    return found;
  }

  private static long busyNs(
      Handovers handovers,
      Map<Handovers.Part, Long> received,
      Map<ReceivingThread, ThreadSecond> threads) {
    long longest = 0;
    double together = 0;
    for (Handovers.Part part : handovers.parts()) {
      ThreadSecond thread = threads.get(part.thread());
      long messages = received.getOrDefault(part, 0L);
      if (thread == null || (messages == 0 && part != handovers.current())) {
        continue;
      }
      longest = Math.max(longest, thread.busyNs);
      if (thread.received > 0) {
        together += (double) thread.busyNs * messages / thread.received;
      }
    }
    return Math.max(longest, (long) together);
  }

  /** As a user counts: by subscription, and where there are several by topic. */
  private String name(Subscription subscription, int number, int others) {
    String name = subscription.name() + " consumer " + number % consumersPerSubscription;
    if (topics > 1) {
      name += " of topic " + number / consumersPerSubscription;
    }
    return others > 0 ? name + " (on one thread with " + others + " more)" : name;
  }
}
