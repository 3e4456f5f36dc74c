package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.DriverException;
import java.util.Arrays;

/**
 * Which messages of a producer a fault hits, counted from 0: "at:5,9,17" or "every:100" (the
 * messages 99, 199, 299 and so on), optionally "every:100:max:3".
 */
final class Positions {
  static final Positions NONE = new Positions(new long[0], 0, 0);

  private final long[] at;
  private final long every;
  private final long max;

  private Positions(long[] at, long every, long max) {
    this.at = at;
    this.every = every;
    this.max = max;
  }

  static Positions parse(String name, String text) throws DriverException {
    if (text.isEmpty()) {
      return NONE;
    }
    try {
      String[] parts = text.split(":");
      if (parts[0].equals("at") && parts.length == 2) {
        long[] at = Arrays.stream(parts[1].split(",")).mapToLong(Long::parseLong).toArray();
        Arrays.sort(at);
        return new Positions(at, 0, 0);
      }
      if (parts[0].equals("every") && parts.length == 2) {
        return new Positions(new long[0], positive(parts[1]), Long.MAX_VALUE);
      }
      if (parts[0].equals("every") && parts.length == 4 && parts[2].equals("max")) {
        return new Positions(new long[0], positive(parts[1]), positive(parts[3]));
      }
    } catch (NumberFormatException e) {
      // Said below.
    }
    throw new DriverException(
        "null driver: "
            + name
            + " must look like 'at:5,9' or 'every:100' or 'every:100:max:3', not '"
            + text
            + "'");
  }

  private static long positive(String text) {
    long n = Long.parseLong(text);
    if (n <= 0) {
      throw new NumberFormatException(text);
    }
    return n;
  }

  boolean isNone() {
    return at.length == 0 && every == 0;
  }

  boolean contains(long n) {
    if (every > 0) {
      return (n + 1) % every == 0 && (n + 1) / every <= max;
    }
    return at.length > 0 && Arrays.binarySearch(at, n) >= 0;
  }
}
