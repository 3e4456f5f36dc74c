package io.tidegauge.worker.engine.load;

/** Chooses the keys of one producer's messages. */
public final class Keys {
  /** How a key is chosen. */
  public enum Choice {
    NONE,
    ROUND_ROBIN,
    RANDOM,
    ZIPF,
    FROM_FILE
  }

  /**
   * Which of its keys a message has: a pure function of its producer and sequence, so that whoever
   * receives it knows its key without reading it.
   *
   * @param count distinct keys; 0 for {@link Choice#NONE}
   * @param zipf what {@link Choice#ZIPF} draws from, else null
   * @param turns of {@link Choice#FROM_FILE}, the key's place for one message after another, round
   *     and round; else null
   */
  public record Rule(Choice choice, int count, long seed, Zipf zipf, int[] turns) {
    private static final long GAMMA = 0x9E3779B97F4A7C15L;

    /**
     * @param zipfExponent by which power of its rank a key is rarer; of {@link Choice#ZIPF} only
     */
    public static Rule of(Choice choice, int count, long seed, double zipfExponent) {
      int keys = choice == Choice.NONE ? 0 : Math.max(1, count);
      return new Rule(
          choice, keys, seed, choice == Choice.ZIPF ? new Zipf(keys, zipfExponent) : null, null);
    }

    /** Keys in the order of these places. */
    static Rule ofTurns(int count, int[] turns) {
      return new Rule(Choice.FROM_FILE, count, 0, null, turns);
    }

    /** The key's place among the distinct keys. */
    public int indexOf(int producer, long sequence) {
      return switch (choice) {
        case RANDOM -> (int) (((random(producer, sequence) >>> 32) * count) >>> 32);
        case ZIPF -> zipf.at(random(producer, sequence));
        case FROM_FILE -> turns[(int) ((producer + sequence) % turns.length)];
        default -> (int) ((producer + sequence) % count);
      };
    }

    /** The mixing of SplittableRandom over a counter. */
    private long random(int producer, long sequence) {
      long z = (seed ^ (0xD1B54A32D192ED03L * (producer + 1))) + GAMMA * (sequence + 1);
      z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
      z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
      return z ^ (z >>> 31);
    }
  }

  private final Rule rule;
  private final byte[][] distinct;
  private final int producer;
  private long next;

  /**
   * @param distinct shared by all producers
   */
  public Keys(Rule rule, byte[][] distinct, int producer) {
    this.rule = rule;
    this.distinct = distinct;
    this.producer = producer;
  }

  /** The key of the next message, in the order of sequences. */
  byte[] next() {
    return rule.count() == 0 ? null : distinct[rule.indexOf(producer, next++)];
  }
}
