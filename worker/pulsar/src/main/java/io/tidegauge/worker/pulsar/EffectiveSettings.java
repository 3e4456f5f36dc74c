package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;

/** The settings of a client as its own configuration object understood them, defaults included. */
final class EffectiveSettings {
  private static final Pattern SECRET = Pattern.compile("(?i).*password.*|auth.*|.*pluginParams");

  /** Differ from client to client and say nothing about behaviour. */
  private static final Set<String> IDENTITIES =
      Set.of(
          "topicName",
          "topicNames",
          "producerName",
          "consumerName",
          "subscriptionName",
          "startPaused");

  private EffectiveSettings() {}

  /**
   * Adds every setting of a client to what has been collected; clients that are set alike leave one
   * entry.
   */
  static void of(
      String scope, Object configuration, Object defaults, Collection<EffectiveSetting> collected)
      throws DriverException {
    Map<String, Object> standard = Json.settingsOf(defaults);
    Json.settingsOf(configuration)
        .forEach(
            (name, value) -> {
              if (!IDENTITIES.contains(name)) {
                boolean isDefault = Objects.equals(value, standard.get(name));
                String shown =
                    !isDefault && SECRET.matcher(name).matches() ? "(hidden)" : Json.text(value);
                collected.add(new EffectiveSetting(scope, name, shown, isDefault));
              }
            });
  }
}
