package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.DriverException;
import java.util.Map;

/** Reads values of settings. */
final class Values {
  private Values() {}

  /** The value of a setting that may have been given. */
  static int wholeNumber(Map<String, String> given, String name, int byDefault, int least)
      throws DriverException {
    return wholeNumber(name, given.getOrDefault(name, Integer.toString(byDefault)), least);
  }

  static int wholeNumber(String name, String value, int least) throws DriverException {
    try {
      int number = Integer.parseInt(value.trim());
      if (number >= least) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Reported below, like a number that is too small.
    }
    throw new DriverException(
        "RabbitMQ's "
            + name
            + " must be a whole number of at least "
            + least
            + ", not \""
            + value
            + "\"");
  }

  /** A queue argument: the server insists on the right type. */
  static Object argument(String value) {
    if (value.matches("-?\\d{1,18}")) {
      return Long.parseLong(value);
    }
    return value.equals("true") || value.equals("false") ? (Object) Boolean.valueOf(value) : value;
  }
}
