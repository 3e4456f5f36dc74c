package io.tidegauge.worker.engine.message;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
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
  private final int messageBytes;

  private PayloadPool(byte[][] bodies, int messageBytes) {
    this.bodies = bodies;
    this.messageBytes = messageBytes;
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
    byte[][] bodies = new byte[held(wanted, bodyBytes)][];
    int randomBytes = (int) Math.round(bodyBytes * Math.min(1, Math.max(0, randomShare)));
    for (int i = 0; i < bodies.length; i++) {
      SplittableRandom random = new SplittableRandom(seed + 0x632BE59BD9B4E019L * (i + 1));
      byte[] body = new byte[bodyBytes];
      Arrays.fill(body, (byte) 'x');
      byte[] noise = new byte[randomBytes];
      random.nextBytes(noise);
      System.arraycopy(noise, 0, body, 0, randomBytes);
      bodies[i] = body;
    }
    return new PayloadPool(bodies, messageBytes);
  }

  /**
   * Bodies cut from a file, round and round.
   *
   * @throws IOException if the file can't be read or is empty
   */
  public static PayloadPool fromFile(Path file, int messageBytes, int wanted) throws IOException {
    int bodyBytes = messageBytes - MessageHeader.bytesIn(messageBytes);
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
    return new PayloadPool(bodies, messageBytes);
  }

  private static int held(int wanted, int bodyBytes) {
    long fit = Math.max(1, POOL_BYTES_MAX / Math.max(1, bodyBytes));
    return (int) Math.max(1, Math.min(wanted, fit));
  }

  public int size() {
    return bodies.length;
  }

  public int messageBytes() {
    return messageBytes;
  }

  public int crc(int index) {
    return crcs[index];
  }

  /** A whole message value with this body and the fixed part of the header. */
  public byte[] newValue(long trialId, int producer, int index) {
    byte[] value = new byte[messageBytes];
    int from = messageBytes - bodies[index].length;
    System.arraycopy(bodies[index], 0, value, from, bodies[index].length);
    if (!ShortMessage.isShort(messageBytes)) {
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
