package io.tidegauge.worker.engine.message;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * The 48 bytes in front of every message, little endian:
 *
 * <pre>
 *  0 u32 magic          8 u64 trial id       24 u64 sequence (per producer, from 0)
 *  4 u32 CRC32C of     16 u32 producer       32 u64 intended time (monotonic ns)
 *        bytes 8..48   20 u32 body CRC32C    40 u32 total length   44 u32 body index
 * </pre>
 */
public final class MessageHeader {
  public static final int BYTES = 48;
  public static final int MAGIC = 0x31474454; // "TDG1"
  private static final int CHECKED_FROM = 8;
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private MessageHeader() {}

  /** Writes what is the same for all messages of a producer with this body. */
  public static void writeFixed(byte[] a, long trialId, int producer, int bodyCrc, int bodyIndex) {
    INT.set(a, 0, MAGIC);
    LONG.set(a, 8, trialId);
    INT.set(a, 16, producer);
    INT.set(a, 20, bodyCrc);
    INT.set(a, 40, a.length);
    INT.set(a, 44, bodyIndex);
  }

  /** How many bytes of a message of this length are not its body. */
  static int bytesIn(int messageBytes) {
    return ShortMessage.isShort(messageBytes) ? ShortMessage.headBytes(messageBytes) : BYTES;
  }

  /** Writes the producer into an array that serves several. */
  public static void writeProducer(byte[] a, int producer) {
    INT.set(a, 16, producer);
  }

  /** Writes what differs from message to message, and the header's checksum. */
  public static void writeMessage(byte[] a, long sequence, long intendedNs) {
    LONG.set(a, 24, sequence);
    LONG.set(a, 32, intendedNs);
    INT.set(a, 4, checksum(a, 0));
  }

  /** CRC32C over the part of the header that is checked. */
  public static int checksum(byte[] a, int offset) {
    return crc(a, offset + CHECKED_FROM, BYTES - CHECKED_FROM);
  }

  /** Whether a whole header of ours is there, undamaged. */
  public static boolean isOurs(byte[] a, int offset) {
    return magic(a, offset) == MAGIC && headerCrc(a, offset) == checksum(a, offset);
  }

  /** Whether the value is as long as its header says and its body has the checksum there. */
  public static boolean isBodyIntact(byte[] a, int offset, int length) {
    if (totalLength(a, offset) != length) {
      return false;
    }
    return crc(a, offset + BYTES, length - BYTES) == bodyCrc(a, offset);
  }

  /** The compiled code makes no object of it: the sum stays in a register. */
  private static int crc(byte[] a, int offset, int length) {
    CRC32C crc = new CRC32C();
    crc.update(a, offset, length);
    return (int) crc.getValue();
  }

  public static int magic(byte[] a, int offset) {
    return (int) INT.get(a, offset);
  }

  public static int headerCrc(byte[] a, int offset) {
    return (int) INT.get(a, offset + 4);
  }

  public static long trialId(byte[] a, int offset) {
    return (long) LONG.get(a, offset + 8);
  }

  public static int producer(byte[] a, int offset) {
    return (int) INT.get(a, offset + 16);
  }

  public static int bodyCrc(byte[] a, int offset) {
    return (int) INT.get(a, offset + 20);
  }

  public static long sequence(byte[] a, int offset) {
    return (long) LONG.get(a, offset + 24);
  }

  public static long intendedNs(byte[] a, int offset) {
    return (long) LONG.get(a, offset + 32);
  }

  public static int totalLength(byte[] a, int offset) {
    return (int) INT.get(a, offset + 40);
  }

  public static int bodyIndex(byte[] a, int offset) {
    return (int) INT.get(a, offset + 44);
  }
}
