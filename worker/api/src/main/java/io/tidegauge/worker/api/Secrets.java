package io.tidegauge.worker.api;

import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;

/**
 * The passwords and tokens that this process was given, so that none of them leaves it in a
 * message: a second net below the drivers, which never put one there themselves.
 */
public final class Secrets {
  public static final String HIDDEN = "(hidden)";

  /** A shorter one stands in ordinary words as well, which hiding it would spoil. */
  private static final int CHARS_MIN = 6;

  /** The longest first: one may contain another. */
  private static final Set<String> KNOWN =
      new ConcurrentSkipListSet<>(
          Comparator.comparingInt(String::length).reversed().thenComparing(String::compareTo));

  private Secrets() {}

  /** From now on hidden; empty and short ones are not. */
  public static void remember(String secret) {
    if (secret != null && secret.length() >= CHARS_MIN) {
      KNOWN.add(secret);
    }
  }

  /** The text with every secret known replaced. */
  public static String hide(String text) {
    String shown = text;
    for (String secret : KNOWN) {
      shown = shown == null ? null : shown.replace(secret, HIDDEN);
    }
    return shown;
  }
}
