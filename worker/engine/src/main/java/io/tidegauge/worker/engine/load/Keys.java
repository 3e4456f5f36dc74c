package io.tidegauge.worker.engine.load;

import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;

/** Chooses the keys of one producer's messages. */
public final class Keys {
  /** How a key is chosen. */
  public enum Choice {
    NONE,
    ROUND_ROBIN,
    RANDOM
  }

  private final Choice choice;
  private final byte[][] keys;
  private final SplittableRandom random;
  private int next;

  /**
   * @param keys the distinct keys, shared by all producers
   */
  public Keys(Choice choice, byte[][] keys, long seed, int producer) {
    this.choice = keys.length == 0 ? Choice.NONE : choice;
    this.keys = keys;
    this.random = new SplittableRandom(seed ^ (0xD1B54A32D192ED03L * (producer + 1)));
    this.next = keys.length == 0 ? 0 : producer % keys.length;
  }

  /** Distinct keys for a trial; none for {@link Choice#NONE}. */
  public static byte[][] distinct(Choice choice, int count) {
    byte[][] keys = new byte[choice == Choice.NONE ? 0 : Math.max(1, count)][];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = String.format("key-%08d", i).getBytes(StandardCharsets.US_ASCII);
    }
    return keys;
  }

  byte[] next() {
    return switch (choice) {
      case NONE -> null;
      case ROUND_ROBIN -> nextInTurn();
      case RANDOM -> keys[random.nextInt(keys.length)];
    };
  }

  private byte[] nextInTurn() {
    byte[] key = keys[next];
    next = next + 1 == keys.length ? 0 : next + 1;
    return key;
  }
}
