package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.EffectiveSetting;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;

/** The settings of a client as its own configuration object understood them, defaults included. */
final class EffectiveSettings {
  /** Differ from client to client and say nothing about behaviour. */
  private static final Set<String> IDENTITIES = Set.of("client.id", "group.id");

  /** Every in-sync replica acknowledges: a client makes the number of the word. */
  private static final Set<String> ALL_ACKS = Set.of("all", "-1");

  private EffectiveSettings() {}

  /** The same of a client that has all of its library's settings. */
  static void of(
      String scope,
      AbstractConfig config,
      ConfigDef definition,
      Collection<EffectiveSetting> collected) {
    of(scope, config, definition, collected, Set.of());
  }

  /**
   * Adds every setting of a client but those that it lacks to what has been collected; clients that
   * are set alike leave one entry.
   */
  static void of(
      String scope,
      AbstractConfig config,
      ConfigDef definition,
      Collection<EffectiveSetting> collected,
      Set<String> lacking) {
    Map<String, Object> defaults = definition.defaultValues();
    new TreeMap<>(config.values())
        .forEach(
            (name, value) -> {
              if (!IDENTITIES.contains(name) && !lacking.contains(name)) {
                Object standard = defaults.get(name);
                boolean isDefault =
                    Objects.equals(value, standard) || areAllAcks(name, value, standard);
                // What has no default must be given: there is nothing that it differs from.
                boolean differs = !isDefault && definition.configKeys().get(name).hasDefault();
                collected.add(
                    new EffectiveSetting(
                        scope, name, text(value), isDefault, differs ? text(standard) : null));
              }
            });
  }

  private static boolean areAllAcks(String name, Object value, Object other) {
    return name.equals(ProducerConfig.ACKS_CONFIG)
        && ALL_ACKS.contains(text(value))
        && ALL_ACKS.contains(text(other));
  }

  /** Passwords hide themselves in toString(). */
  private static String text(Object value) {
    return value == null ? "" : value instanceof Class<?> type ? type.getName() : value.toString();
  }
}
