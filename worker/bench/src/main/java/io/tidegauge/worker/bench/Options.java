package io.tidegauge.worker.bench;

import io.tidegauge.worker.api.ClientOptions;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * Settings of a benchmark from its command line: {@code name=value}; {@code connect.NAME=value}
 * goes to the driver.
 */
final class Options {
  private final Map<String, String> values = new LinkedHashMap<>();

  Options(String[] args) {
    for (String arg : args) {
      int at = arg.indexOf('=');
      if (at <= 0) {
        throw new IllegalArgumentException("not name=value: " + arg);
      }
      values.put(arg.substring(0, at), arg.substring(at + 1));
    }
  }

  String text(String name, String standard) {
    return values.getOrDefault(name, standard);
  }

  int number(String name, int standard) {
    return Integer.parseInt(text(name, String.valueOf(standard)));
  }

  Map<String, String> connection() {
    Map<String, String> settings = new TreeMap<>();
    values.forEach(
        (name, value) -> {
          if (name.startsWith("connect.")) {
            settings.put(name.substring("connect.".length()), value);
          }
        });
    return settings;
  }

  /** The client settings of both the engine and the bare loop. */
  ClientOptions client() {
    return new ClientOptions(
        number("batch_bytes", 131_072),
        number("batch_delay_us", 1_000),
        text("compression", "none"),
        number("in_flight", 5_000),
        number("receive_queue", 5_000),
        1,
        text("acks", "all"),
        number("bytes", 1_024),
        Map.of(),
        Map.of(),
        0);
  }
}
