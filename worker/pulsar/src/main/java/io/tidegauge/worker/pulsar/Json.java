package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import java.io.IOException;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/**
 * JSON by the mapper that the Pulsar client carries anyway: one library fewer on the class path.
 */
final class Json {
  private Json() {}

  /** Maps, lists, strings, numbers, booleans or null. */
  static Object parse(String text) throws DriverException {
    try {
      return ObjectMapperFactory.getMapper().getObjectMapper().readValue(text, Object.class);
    } catch (IOException e) {
      throw new DriverException("Pulsar's answer is not JSON: " + text.strip(), e);
    }
  }

  /** The object's fields, sorted by name; empty if the text is not an object. */
  static Map<String, Object> parseObject(String text) throws DriverException {
    Map<String, Object> fields = new TreeMap<>();
    if (parse(text) instanceof Map<?, ?> object) {
      object.forEach((name, value) -> fields.put(String.valueOf(name), value));
    }
    return fields;
  }

  /** A configuration object's settings, those without a value included. */
  static Map<String, Object> settingsOf(Object configuration) throws DriverException {
    try {
      String text =
          ObjectMapperFactory.getMapperWithIncludeAlways()
              .getObjectMapper()
              .writeValueAsString(configuration);
      return parseObject(text);
    } catch (IOException e) {
      throw new DriverException(
          "the Pulsar client's configuration can't be read: " + e.getMessage(), e);
    }
  }

  /** As a setting is shown: a plain word for a scalar, JSON for the rest. */
  static String text(Object value) {
    if (value == null) {
      return "";
    }
    if (value instanceof Map || value instanceof Collection) {
      try {
        return ObjectMapperFactory.getMapper().getObjectMapper().writeValueAsString(value);
      } catch (IOException e) {
        return value.toString();
      }
    }
    return value.toString();
  }
}
