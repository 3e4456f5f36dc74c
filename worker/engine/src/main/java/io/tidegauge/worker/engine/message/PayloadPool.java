package io.tidegauge.worker.engine.message;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.IntSummaryStatistics;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/**
 * The bodies of a trial's messages, made once. The same seed and settings give the same bodies on
 * every host, which lets a receiver compare instead of computing a checksum.
 */
public final class PayloadPool {
  /** Memory for bodies; the pool holds fewer bodies than asked for rather than more than this. */
  public static final long POOL_BYTES_MAX = 16L << 20;

  private final byte[][] bodies;
  private final int[] crcs;
  private final int headBytes;
  private final int messageBytes;
  private final boolean isMixed;

  /** Of messages that all have a whole header, or are all of one size. */
  private PayloadPool(byte[][] bodies, int headBytes) {
    this.bodies = bodies;
    this.headBytes = headBytes;
    IntSummaryStatistics sizes =
        Arrays.stream(bodies).mapToInt(body -> headBytes + body.length).summaryStatistics();
    this.messageBytes = (int) Math.round(sizes.getAverage());
    this.isMixed = sizes.getMin() < sizes.getMax();
    this.crcs = new int[bodies.length];
    CRC32C crc = new CRC32C();
    for (int i = 0; i < bodies.length; i++) {
      crc.reset();
      crc.update(bodies[i], 0, bodies[i].length);
      crcs[i] = (int) crc.getValue();
    }
  }

  /**
   * Seeded bodies: the first {@code randomShare} of each is random, the rest one repeated byte.
   *
   * @param messageBytes whole message with its header
   */
  public static PayloadPool seeded(long seed, int messageBytes, double randomShare, int wanted) {
    int bodyBytes = messageBytes - MessageHeader.bytesIn(messageBytes);
    int[] bodiesBytes = new int[held(wanted, bodyBytes)];
    Arrays.fill(bodiesBytes, bodyBytes);
    return seeded(seed, bodiesBytes, randomShare, messageBytes - bodyBytes);
  }

  /**
   * The same of messages of several sizes.
   *
   * @param messagesBytes of each body's message with its header, which all have whole
   */
  public static PayloadPool seeded(long seed, int[] messagesBytes, double randomShare) {
    int[] bodiesBytes =
        Arrays.stream(messagesBytes).map(bytes -> bytes - MessageHeader.BYTES).toArray();
    return seeded(seed, bodiesBytes, randomShare, MessageHeader.BYTES);
  }

  private static PayloadPool seeded(
      long seed, int[] bodiesBytes, double randomShare, int headBytes) {
    byte[][] bodies = new byte[bodiesBytes.length][];
    for (int i = 0; i < bodies.length; i++) {
      int bodyBytes = bodiesBytes[i];
      int randomBytes = (int) Math.round(bodyBytes * Math.min(1, Math.max(0, randomShare)));
      SplittableRandom random = new SplittableRandom(seed + 0x632BE59BD9B4E019L * (i + 1));
      byte[] body = new byte[bodyBytes];
      Arrays.fill(body, (byte) 'x');
      byte[] noise = new byte[randomBytes];
      random.nextBytes(noise);
      System.arraycopy(noise, 0, body, 0, randomBytes);
      bodies[i] = body;
    }
    return new PayloadPool(bodies, headBytes);
  }

  /**
   * A body of each file of a directory, in the order of their names, or of each line of a file,
   * without what ends the line. Empty ones count for nothing, and so do files whose names begin
   * with a dot.
   *
   * @throws IOException if something can't be read, has nothing in it, or more than a pool holds
   */
  public static PayloadPool given(Path place) throws IOException {
    List<byte[]> bodies =
        Files.isDirectory(place) ? filesOf(place) : FileLines.read(place, POOL_BYTES_MAX);
    if (bodies.isEmpty()) {
      throw new IOException("the payload file is empty: " + place);
    }
    return new PayloadPool(bodies.toArray(new byte[0][]), MessageHeader.BYTES);
  }

  private static List<byte[]> filesOf(Path directory) throws IOException {
    List<Path> files;
    try (Stream<Path> entries = Files.list(directory)) {
      files =
          entries
              .filter(file -> !file.getFileName().toString().startsWith("."))
              .sorted(Comparator.comparing(file -> file.getFileName().toString()))
              .toList();
    }
    List<byte[]> bodies = new ArrayList<>();
    long left = POOL_BYTES_MAX;
    for (Path file : files) {
      byte[] body = FileLines.readWhole(file, left);
      left -= body.length;
      if (body.length > 0) {
        bodies.add(body);
      }
    }
    return bodies;
  }

  /**
   * Bodies cut from a file, round and round.
   *
   * @throws IOException if the file can't be read or is empty
   */
  public static PayloadPool fromFile(Path file, int messageBytes, int wanted) throws IOException {
    int headBytes = MessageHeader.bytesIn(messageBytes);
    int bodyBytes = messageBytes - headBytes;
    byte[][] bodies = new byte[held(wanted, bodyBytes)][bodyBytes];
    long needed = Math.max(1, (long) bodies.length * bodyBytes);
    byte[] source;
    try (var in = Files.newInputStream(file)) {
      source = in.readNBytes((int) Math.min(needed, Integer.MAX_VALUE - 8));
    }
    if (source.length == 0) {
      throw new IOException("the payload file is empty: " + file);
    }
    long at = 0;
    for (byte[] body : bodies) {
      for (int i = 0; i < bodyBytes; i++) {
        body[i] = source[(int) (at++ % source.length)];
      }
    }
    return new PayloadPool(bodies, headBytes);
  }

  private static int held(int wanted, int bodyBytes) {
    long fit = Math.max(1, POOL_BYTES_MAX / Math.max(1, bodyBytes));
    return (int) Math.max(1, Math.min(wanted, fit));
  }

  public int size() {
    return bodies.length;
  }

  /** Of a whole value, on average over the pool. */
  public int messageBytes() {
    return messageBytes;
  }

  /** Whether messages are of several sizes. */
  public boolean isMixed() {
    return isMixed;
  }

  /**
   * Bytes of so many values.
   *
   * @param countedBytes theirs as counted, which is done where they differ
   */
  public long bytesOf(long values, long countedBytes) {
    return isMixed ? countedBytes : values * messageBytes;
  }

  public int crc(int index) {
    return crcs[index];
  }

  /** A whole message value with this body and the fixed part of the header. */
  public byte[] newValue(long trialId, int producer, int index) {
    byte[] value = new byte[headBytes + bodies[index].length];
    System.arraycopy(bodies[index], 0, value, headBytes, bodies[index].length);
    if (headBytes == MessageHeader.BYTES) {
      MessageHeader.writeFixed(value, trialId, producer, crcs[index], index);
    }
    return value;
  }

  /**
   * Whether the body received is, byte for byte, the one the header names; false also if the pool
   * does not have it.
   */
  public boolean matches(int index, int bodyCrc, byte[] a, int offset, int length) {
    if (index < 0 || index >= bodies.length || crcs[index] != bodyCrc) {
      return false;
    }
    byte[] body = bodies[index];
    return Arrays.mismatch(body, 0, body.length, a, offset + MessageHeader.BYTES, offset + length)
        < 0;
  }
}
