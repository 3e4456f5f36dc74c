package io.tidegauge.worker.engine.load;

import java.nio.charset.StandardCharsets;

/** Chooses the keys of one producer's messages. */
public final class Keys {
  /** How a key is chosen. */
  public enum Choice {
    NONE,
    ROUND_ROBIN,
    RANDOM
  }

  /**
   * Which of its keys a message has: a pure function of its producer and sequence, so that whoever
   * receives it knows its key without reading it.
   *
   * @param count distinct keys; 0 for {@link Choice#NONE}
   */
  public record Rule(Choice choice, int count, long seed) {
    private static final long GAMMA = 0x9E3779B97F4A7C15L;

    /** The key's place among the distinct keys. */
    public int indexOf(int producer, long sequence) {
      return choice == Choice.RANDOM
          ? random(producer, sequence)
          : (int) ((producer + sequence) % count);
    }

    /** The mixing of SplittableRandom over a counter, brought down to the number of keys. */
    private int random(int producer, long sequence) {
      long z = (seed ^ (0xD1B54A32D192ED03L * (producer + 1))) + GAMMA * (sequence + 1);
      z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
      z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
      z ^= z >>> 31;
      return (int) (((z >>> 32) * count) >>> 32);
    }
  }

  private final Rule rule;
  private final byte[][] keys;
  private final int producer;
  private long next;

  /**
   * @param keys the distinct keys, shared by all producers
   */
  public Keys(Choice choice, byte[][] keys, long seed, int producer) {
    this.rule = new Rule(keys.length == 0 ? Choice.NONE : choice, keys.length, seed);
    this.keys = keys;
    this.producer = producer;
  }

  /** Distinct keys for a trial; none for {@link Choice#NONE}. */
  public static byte[][] distinct(Choice choice, int count) {
    byte[][] keys = new byte[choice == Choice.NONE ? 0 : Math.max(1, count)][];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = String.format("key-%08d", i).getBytes(StandardCharsets.US_ASCII);
    }
    return keys;
  }

  /** The key of the next message, in the order of sequences. */
  byte[] next() {
    return rule.count() == 0 ? null : keys[rule.indexOf(producer, next++)];
  }
}
