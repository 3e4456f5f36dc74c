package io.tidegauge.worker.nats;

import io.tidegauge.worker.api.DriverException;
import java.util.Map;

/** Settings that are whole numbers. */
final class Values {
  private Values() {}

  /** The number of a setting, or {@code otherwise} where it is not given. */
  static int wholeNumber(Map<String, String> settings, String name, int otherwise, int least)
      throws DriverException {
    String text = settings.get(name);
    if (text == null) {
      return otherwise;
    }
    try {
      int number = Integer.parseInt(text.trim());
      if (number >= least) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Said below.
    }
    throw new DriverException(
        "NATS's "
            + name
            + " must be a whole number of "
            + least
            + " or more, not \""
            + text
            + "\"");
  }
}
