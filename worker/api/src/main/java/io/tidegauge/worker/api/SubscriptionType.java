package io.tidegauge.worker.api;

import java.util.Locale;

/** Who receives a subscription's messages, and in which order. A driver refuses what it lacks. */
public enum SubscriptionType {
  /** Each partition is read by one consumer, in order: what the system's users have by default. */
  BY_PARTITION,
  /** One consumer only; in order. */
  EXCLUSIVE,
  /** Of several consumers one is active for each partition; in order. */
  FAILOVER,
  /** Any consumer receives any message; in no order. */
  SHARED,
  /** Messages of one key go to one consumer, in order. */
  KEY_SHARED;

  /** As campaigns write it: "key-shared". */
  public String text() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** The error for a system that has no such subscription. */
  public DriverException lacking(String system, String why) {
    return new DriverException(
        system + " has no subscription-type \"" + text() + "\": " + why, null);
  }
}
