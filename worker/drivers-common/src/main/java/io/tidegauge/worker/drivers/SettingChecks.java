package io.tidegauge.worker.drivers;

import io.tidegauge.worker.api.DriverException;
import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Map;

/**
 * Checks settings, so that a slip of the pen in a name or a value is an error and not a setting
 * that silently has no effect.
 */
public final class SettingChecks {
  private SettingChecks() {}

  /**
   * Checks that every given name is a valid one.
   *
   * @param system whose settings they are, for the message: "Kafka"
   * @param what what the names are, for the message: "producer setting"
   * @throws DriverException naming the first unknown key and the valid key nearest to it
   */
  public static void checkNames(
      String system, String what, Collection<String> given, Collection<String> valid)
      throws DriverException {
    for (String key : given) {
      if (!valid.contains(key)) {
        throw new DriverException(
            system
                + " has no "
                + what
                + " \""
                + key
                + "\"; did you mean \""
                + nearest(key, valid)
                + "\"?");
      }
    }
  }

  /**
   * The same of settings that a user gives for a client.
   *
   * @param reserved those that the driver chooses: giving them would break it
   */
  public static void checkOverrides(
      String system,
      String what,
      Collection<String> given,
      Collection<String> valid,
      Collection<String> reserved)
      throws DriverException {
    checkNames(system, what, given, valid);
    for (String key : given) {
      if (reserved.contains(key)) {
        throw new DriverException(
            system + "'s " + what + " \"" + key + "\" is set by Tidegauge and can't be overridden");
      }
    }
  }

  /** Reads the value of a setting that is true or false. */
  public static boolean parseTruth(String system, String key, String value) throws DriverException {
    return switch (value.trim()) {
      case "true" -> true;
      case "false" -> false;
      default ->
          throw new DriverException(
              system + "'s " + key + " must be true or false, not \"" + value + "\"");
    };
  }

  /** Reads the value of a setting that is a whole number, where it is given. */
  public static int parseWholeNumber(
      String system, Map<String, String> given, String key, int byDefault, int least)
      throws DriverException {
    String value = given.get(key);
    return value == null ? byDefault : parseWholeNumber(system, key, value, least);
  }

  /** Reads a whole number of at least so much. */
  public static int parseWholeNumber(String system, String key, String value, int least)
      throws DriverException {
    try {
      int number = Integer.parseInt(value.trim());
      if (number >= least) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Reported below, like a number that is too small.
    }
    throw new DriverException(
        system
            + "'s "
            + key
            + " must be a whole number of at least "
            + least
            + ", not \""
            + value
            + "\"");
  }

  /** The candidate with the smallest edit distance, letter case aside; the first of equals. */
  static String nearest(String key, Collection<String> candidates) {
    String lower = key.toLowerCase(Locale.ROOT);
    return candidates.stream()
        .min(Comparator.comparingInt(one -> distance(lower, one.toLowerCase(Locale.ROOT))))
        .orElse("");
  }

  /** Levenshtein's edit distance. */
  private static int distance(String a, String b) {
    int[] above = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      above[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int[] row = new int[b.length() + 1];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int change = above[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        row[j] = Math.min(change, Math.min(above[j], row[j - 1]) + 1);
      }
      above = row;
    }
    return above[b.length()];
  }
}
