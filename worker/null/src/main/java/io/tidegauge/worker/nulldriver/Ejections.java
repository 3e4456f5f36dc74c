package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.DriverException;
import java.util.Locale;

/**
 * How consumers are made to leave while messages flow: each time a subscription of a topic has
 * handed over {@code every} messages with all its consumers there, one of them, by turns, is
 * ejected with its last {@code unacknowledged} messages unacknowledged; these are delivered again,
 * and the consumer joins again. Exactly {@code times} times, so many messages are duplicates.
 */
record Ejections(int every, int unacknowledged, int times) {
  static final Ejections NONE = new Ejections(0, 0, 0);

  /** "every:unacknowledged:times"; empty for none. */
  static Ejections parse(String text) throws DriverException {
    if (text.isEmpty()) {
      return NONE;
    }
    String[] parts = text.split(":", -1);
    try {
      if (parts.length == 3) {
        return new Ejections(
            Integer.parseUnsignedInt(parts[0]),
            Integer.parseUnsignedInt(parts[1]),
            Integer.parseUnsignedInt(parts[2]));
      }
    } catch (NumberFormatException e) {
      // Said below.
    }
    throw new DriverException(
        String.format(
            Locale.ROOT,
            "null driver: eject must look like '500:5:6' (every so many messages, so many"
                + " unacknowledged, so many times), not '%s'",
            text));
  }
}
