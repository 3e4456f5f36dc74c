package io.tidegauge.worker.engine.check;

import java.util.ArrayList;
import java.util.List;

/**
 * The first few messages with which something was wrong. Once there are enough, more cost nothing.
 */
public final class Examples {
  /** How many are kept. */
  public static final int MAX = 10;

  private final List<String> found = new ArrayList<>();
  private volatile boolean full;

  /** A message of a producer of the trial, by the number that it has there. */
  public static String words(int producer, long sequence) {
    return "producer " + producer + " sequence " + sequence;
  }

  void add(int producer, long sequence) {
    if (!full) {
      keep(words(producer, sequence));
    }
  }

  private synchronized void keep(String example) {
    if (found.size() < MAX) {
      found.add(example);
    }
    full = found.size() == MAX;
  }

  public synchronized List<String> all() {
    return List.copyOf(found);
  }
}
