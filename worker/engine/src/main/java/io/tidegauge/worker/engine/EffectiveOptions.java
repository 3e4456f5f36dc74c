package io.tidegauge.worker.engine;

import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.engine.load.LoadThreads;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;

/** What the engine makes of a plan with a driver on this machine, and tells as settings. */
final class EffectiveOptions {
  private final TrialPlan plan;
  private final Driver driver;
  private final int cpus = Runtime.getRuntime().availableProcessors();

  EffectiveOptions(TrialPlan plan, Driver driver) {
    this.plan = plan;
    this.driver = driver;
  }

  /** Whether every message in flight has an array of its own. */
  boolean ownValues() {
    return driver.retainsValue();
  }

  /** Whether a send may take time: to compress, to wait, or with whatever producers were set to. */
  boolean sendsMayBlock() {
    return driver.sendsMayBlock()
        || !plan.client().compression().equals("none")
        || !plan.client().producerOverrides().isEmpty();
  }

  /** Messages that are due within so much time are sent together. */
  long grainNs() {
    TrialPlan.Variant variant = plan.variant();
    return LoadThreads.grainNs(
        variant.grainNs(), variant.spinShareMax(), TrialPlan.Variant.SPIN_SHARE_MAX, cpus);
  }

  /** What the clients were given, and what the engine made of the plan. */
  List<EffectiveSetting> settings(int loadThreads, int poolBodies) {
    double spinShare = LoadThreads.spinShare(plan.variant().spinShareMax(), loadThreads, cpus);
    List<EffectiveSetting> all = new ArrayList<>(driver.clientSettings());
    all.add(setting("load_threads", loadThreads));
    all.add(setting("precision", percent(spinShare)));
    all.add(setting("grain", grainNs() / 1_000 + "us"));
    all.add(setting("in_flight_messages_max", plan.client().inFlightMessagesMax()));
    all.add(setting("receive_queue_messages", plan.client().receiveQueueMessages()));
    all.add(setting("payload_pool_bodies", poolBodies));
    all.add(setting("value_array_per_message", ownValues()));
    return all;
  }

  private static String percent(double share) {
    BigDecimal rounded = BigDecimal.valueOf(share).setScale(4, RoundingMode.HALF_UP);
    return rounded.movePointRight(2).stripTrailingZeros().toPlainString() + "%";
  }

  private static EffectiveSetting setting(String name, Object value) {
    return new EffectiveSetting("engine", name, String.valueOf(value), null);
  }
}
