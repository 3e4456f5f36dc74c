package io.tidegauge.worker.api;

/**
 * A setting in force.
 *
 * @param scope where: "broker 1", "topic tg-x", "bookie 1", "producer", "consumer"
 * @param isDefault whether it is the system's default; null if the system does not say
 * @param defaultValue the default that it differs from, as the client library or the system says;
 *     null if it does not differ, or nobody says
 */
public record EffectiveSetting(
    String scope, String name, String value, Boolean isDefault, String defaultValue) {
  /** A setting of whose default no more is known than whether it has it. */
  public EffectiveSetting(String scope, String name, String value, Boolean isDefault) {
    this(scope, name, value, isDefault, null);
  }
}
