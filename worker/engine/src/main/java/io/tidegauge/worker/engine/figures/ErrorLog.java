package io.tidegauge.worker.engine.figures;

import io.tidegauge.worker.api.Secrets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The first few distinct errors with their counts. */
public final class ErrorLog {
  /** Distinct errors that are kept; the others are counted together. */
  public static final int DISTINCT_MAX = 20;

  private static final int MESSAGE_CHARS_MAX = 400;

  /**
   * An error and how often it came.
   *
   * @param where "send", "receive", "engine"
   */
  public record ErrorCount(String where, String message, long count) {}

  private record Key(String where, String message) {}

  private final Map<Key, long[]> counts = new LinkedHashMap<>();

  public void add(String where, Throwable cause) {
    add(where, describe(cause));
  }

  public synchronized void add(String where, String message) {
    Key key = new Key(where, message);
    if (!counts.containsKey(key) && counts.size() >= DISTINCT_MAX) {
      key = new Key(where, "(other errors)");
    }
    counts.computeIfAbsent(key, k -> new long[1])[0]++;
  }

  public synchronized List<ErrorCount> all() {
    List<ErrorCount> all = new ArrayList<>();
    counts.forEach((k, n) -> all.add(new ErrorCount(k.where(), k.message(), n[0])));
    return all;
  }

  /** One line without secrets: the type and message of an error and of its root cause. */
  public static String describe(Throwable cause) {
    if (cause == null) {
      return "unknown cause";
    }
    Throwable root = cause;
    for (int depth = 0; root.getCause() != null && depth < 20; depth++) {
      root = root.getCause();
    }
    String text = oneLine(cause);
    if (root != cause) {
      text += ", caused by " + oneLine(root);
    }
    text = Secrets.hide(text);
    return text.length() > MESSAGE_CHARS_MAX ? text.substring(0, MESSAGE_CHARS_MAX) + "..." : text;
  }

  private static String oneLine(Throwable t) {
    String message = t.getMessage();
    String name = t.getClass().getSimpleName();
    return message == null ? name : name + ": " + message.lines().findFirst().orElse("");
  }
}
