package io.tidegauge.worker.engine.message;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Files of bounded size, whole or by their lines. */
public final class FileLines {
  private FileLines() {}

  /**
   * The lines of a file but for empty ones, each without what ends it.
   *
   * @throws IOException if the file can't be read, or has more than so many bytes
   */
  public static List<byte[]> read(Path file, long bytesMax) throws IOException {
    byte[] source = readWhole(file, bytesMax);
    List<byte[]> lines = new ArrayList<>();
    int from = 0;
    for (int i = 0; i <= source.length; i++) {
      if (i == source.length || source[i] == '\n') {
        int until = i > from && source[i - 1] == '\r' ? i - 1 : i;
        if (until > from) {
          lines.add(Arrays.copyOfRange(source, from, until));
        }
        from = i + 1;
      }
    }
    return lines;
  }

  /**
   * All that is in a file.
   *
   * @throws IOException if it can't be read, or has more than so many bytes
   */
  static byte[] readWhole(Path file, long bytesMax) throws IOException {
    byte[] source;
    try (var in = Files.newInputStream(file)) {
      source = in.readNBytes((int) bytesMax + 1);
    }
    if (source.length > bytesMax) {
      throw new IOException(file + " has more than the " + bytesMax + " bytes that are kept");
    }
    return source;
  }
}
