package io.tidegauge.worker.api;

/**
 * A setting in force.
 *
 * @param scope where: "broker 1", "topic tg-x", "bookie 1", "producer", "consumer"
 * @param isDefault whether it is the system's default; null if the system does not say
 */
public record EffectiveSetting(String scope, String name, String value, Boolean isDefault) {}
