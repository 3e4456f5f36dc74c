package io.tidegauge.worker.engine.message;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * Messages without room for a {@link MessageHeader}, little endian. How much they say of themselves
 * depends on their length, the same for all of a trial:
 *
 * <pre>
 *  from 16 bytes   0 u64 identity: producer &lt;&lt; 40 | sequence   8 u32 time   12 u32 CRC32C of all else
 *  8 to 15         0 u64 identity
 *  1 to 7          the sequence's low bytes, as many as there are; of one producer a topic only
 * </pre>
 *
 * The checksum begins with the trial's id, so that other trials' messages don't fit. The time is
 * the intended one in units of 1,024 ns, of which 32 bits last for 72 minutes.
 */
public final class ShortMessage {
  /** Shorter ones have no time and no checksum. */
  public static final int CHECKED_BYTES = 16;

  /** Shorter ones don't name their producer. */
  public static final int NAMED_BYTES = 8;

  public static final int SEQUENCE_BITS = 40;
  public static final long SEQUENCE_MAX = 1L << SEQUENCE_BITS;
  private static final int TIME_AT = 8;
  private static final int CHECKSUM_AT = 12;
  private static final int TIME_SHIFT = 10;
  private static final int BEFORE = 1 << 26;
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private ShortMessage() {}

  /** Whether messages of so many bytes are of this kind. */
  public static boolean isShort(int messageBytes) {
    return messageBytes < MessageHeader.BYTES;
  }

  /** How many bytes of so short a message are not its body. */
  public static int headBytes(int messageBytes) {
    return messageBytes >= CHECKED_BYTES ? CHECKED_BYTES : Math.min(NAMED_BYTES, messageBytes);
  }

  /** Writes all that a message says of itself. */
  public static void write(byte[] a, long trialId, int producer, long sequence, long intendedNs) {
    if (a.length < NAMED_BYTES) {
      for (int i = 0; i < a.length; i++) {
        a[i] = (byte) (sequence >>> (8 * i));
      }
      return;
    }
    LONG.set(a, 0, (long) producer << SEQUENCE_BITS | sequence);
    if (a.length >= CHECKED_BYTES) {
      INT.set(a, TIME_AT, (int) (intendedNs >>> TIME_SHIFT));
      INT.set(a, CHECKSUM_AT, checksum(a, 0, a.length, trialId));
    }
  }

  public static int producer(byte[] a, int offset) {
    return (int) ((long) LONG.get(a, offset) >>> SEQUENCE_BITS);
  }

  public static long sequence(byte[] a, int offset) {
    return (long) LONG.get(a, offset) & (SEQUENCE_MAX - 1);
  }

  /** The sequence with these low bytes that is nearest to the one that is expected. */
  public static long sequenceNear(byte[] a, int offset, int length, long expected) {
    long low = 0;
    for (int i = 0; i < length; i++) {
      low |= (a[offset + i] & 0xFFL) << (8 * i);
    }
    int unknown = Long.SIZE - 8 * length;
    // Of the difference as many bits are known; the highest of these is its sign.
    return expected + ((low - expected) << unknown >> unknown);
  }

  /** Whether a message with a checksum is one of this trial's, undamaged. */
  public static boolean isIntact(byte[] a, int offset, int length, long trialId) {
    return (int) INT.get(a, offset + CHECKSUM_AT) == checksum(a, offset, length, trialId);
  }

  /** The intended time of a message with a time, to 1 us, by when it was received. */
  public static long intendedNs(byte[] a, int offset, long receivedNs) {
    int ago = (int) (receivedNs >>> TIME_SHIFT) - (int) INT.get(a, offset + TIME_AT);
    // The last minute of all that 32 bits can say is before the message was intended.
    long since = Integer.toUnsignedLong(ago + BEFORE) - BEFORE;
    return receivedNs - (since << TIME_SHIFT);
  }

  private static int checksum(byte[] a, int offset, int length, long trialId) {
    CRC32C crc = new CRC32C();
    crc.update(a, offset, CHECKSUM_AT);
    crc.update(a, offset + CHECKED_BYTES, length - CHECKED_BYTES);
    return (int) crc.getValue() ^ (int) (trialId ^ trialId >>> 32);
  }
}
