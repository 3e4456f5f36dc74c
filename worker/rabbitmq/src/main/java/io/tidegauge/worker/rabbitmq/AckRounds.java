package io.tidegauge.worker.rabbitmq;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Has all consumers send the acknowledgements that they hold back, in one round after each
 * interval: with a timer for each, thousands of consumers would spend their time on timers.
 */
final class AckRounds {
  private final ScheduledExecutorService keeper;
  private final Map<Integer, Set<Runnable>> byInterval = new ConcurrentHashMap<>();

  AckRounds(ScheduledExecutorService keeper) {
    this.keeper = keeper;
  }

  /** Has {@code flush}, which never throws, called every so often until it leaves. */
  void join(int ms, Runnable flush) {
    byInterval.computeIfAbsent(ms, this::begin).add(flush);
  }

  private Set<Runnable> begin(int ms) {
    Set<Runnable> round = ConcurrentHashMap.newKeySet();
    keeper.scheduleWithFixedDelay(
        () -> round.forEach(Runnable::run), ms, ms, TimeUnit.MILLISECONDS);
    return round;
  }

  void leave(int ms, Runnable flush) {
    byInterval.get(ms).remove(flush);
  }
}
