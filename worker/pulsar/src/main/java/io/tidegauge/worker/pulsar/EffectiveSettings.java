package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.drivers.Json;
import java.io.IOException;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.pulsar.common.util.ObjectMapperFactory;

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
    Map<String, Object> standard = settingsOf(defaults);
    settingsOf(configuration)
        .forEach(
            (name, value) -> {
              if (!IDENTITIES.contains(name)) {
                boolean isDefault = Objects.equals(value, standard.get(name));
                String shown =
                    !isDefault && SECRET.matcher(name).matches() ? "(hidden)" : text(value);
                String differsFrom = isDefault ? null : text(standard.get(name));
                collected.add(new EffectiveSetting(scope, name, shown, isDefault, differsFrom));
              }
            });
  }

  /** A configuration object's settings, those without a value included. */
  static Map<String, Object> settingsOf(Object configuration) throws DriverException {
    try {
      return Json.readMap(
          ObjectMapperFactory.getMapperWithIncludeAlways()
              .getObjectMapper()
              .writeValueAsString(configuration));
    } catch (IOException e) {
      throw new DriverException(
          "the Pulsar client's configuration can't be read: " + e.getMessage(), e);
    }
  }

  /** As a setting is shown: a plain word for a scalar, JSON for the rest. */
  static String text(Object value) {
    boolean scalar = !(value instanceof Map || value instanceof Collection);
    return value == null ? "" : scalar ? value.toString() : Json.write(value);
  }
}
