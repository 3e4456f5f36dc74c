package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.engine.message.FileLines;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/** The distinct keys of a trial's messages, and the rule by which each message gets one. */
public final class KeySet {
  private final Keys.Rule rule;
  private final Supplier<byte[][]> source;

  private KeySet(Keys.Rule rule, Supplier<byte[][]> source) {
    this.rule = rule;
    this.source = source;
  }

  /** Keys that are named by their numbers. */
  public static KeySet numbered(Keys.Rule rule) {
    return new KeySet(rule, () -> named(rule.count()));
  }

  /**
   * The key of each message is the next line of a file, without what ends it, round and round;
   * empty lines count for nothing.
   *
   * @throws IOException if the file can't be read, has no line with anything, or too many bytes
   */
  public static KeySet ofLines(Path file) throws IOException {
    Map<String, Integer> places = new LinkedHashMap<>();
    int[] turns =
        FileLines.read(file, PayloadPool.POOL_BYTES_MAX).stream()
            .mapToInt(line -> places.computeIfAbsent(text(line), key -> places.size()))
            .toArray();
    if (turns.length == 0) {
      throw new IOException("the file is empty: " + file);
    }
    return new KeySet(Keys.Rule.ofTurns(places.size(), turns), () -> bytesOf(places.keySet()));
  }

  /** A character for each byte, whatever they are. */
  private static String text(byte[] key) {
    return new String(key, StandardCharsets.ISO_8859_1);
  }

  private static byte[][] bytesOf(Set<String> keys) {
    return keys.stream()
        .map(key -> key.getBytes(StandardCharsets.ISO_8859_1))
        .toArray(byte[][]::new);
  }

  private static byte[][] named(int count) {
    byte[][] keys = new byte[count][];
    for (int i = 0; i < count; i++) {
      keys[i] = String.format("key-%08d", i).getBytes(StandardCharsets.US_ASCII);
    }
    return keys;
  }

  public Keys.Rule rule() {
    return rule;
  }

  /** Made anew by each call: whoever only receives needs none. */
  public byte[][] distinct() {
    return source.get();
  }
}
