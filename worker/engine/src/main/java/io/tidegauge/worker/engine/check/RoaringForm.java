package io.tidegauge.worker.engine.check;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.roaringbitmap.BitSetUtil;
import org.roaringbitmap.RoaringBitmap;

/**
 * A set of sequences in Roaring's portable 64-bit format (RoaringFormatSpec): how many bitmaps of
 * 32 bits follow, then each with the upper half of its members, little endian. In parts of 2^26
 * sequences, so that no part takes more than a little over 8 MiB, however the members lie.
 *
 * <p>A chunk of a {@link SequenceSet} is a container of Roaring's.
 */
public final class RoaringForm {
  static final int CHUNKS_PER_PART = 1 << 10;
  private static final int CHUNKS_PER_BITMAP = 1 << 16;

  private final SequenceSet set;
  private final long limit;
  private int chunk;

  /**
   * @param limit members from here on are left out
   */
  public RoaringForm(SequenceSet set, long limit) {
    this.set = set;
    this.limit = limit;
    skipEmpty();
  }

  private void skipEmpty() {
    while (chunk < set.chunks() && set.isEmpty(chunk)) {
      chunk++;
    }
  }

  /** Whether there is another part, which may be empty if the limit makes it so. */
  public boolean hasNext() {
    return chunk < set.chunks();
  }

  /** The next part; the empty set if there is none. */
  public byte[] next() {
    int first = chunk;
    int end = Math.min(set.chunks(), (first / CHUNKS_PER_PART + 1) * CHUNKS_PER_PART);
    RoaringBitmap part = new RoaringBitmap();
    while (chunk < end) {
      add(part);
    }
    long from = (long) first / CHUNKS_PER_BITMAP * CHUNKS_PER_BITMAP * SequenceSet.CHUNK;
    if (limit - from < 1L << 32) {
      part.remove(Math.max(0, limit - from), 1L << 32);
    }
    part.runOptimize();
    skipEmpty();
    return serialized(part, first / CHUNKS_PER_BITMAP);
  }

  private void add(RoaringBitmap part) {
    long low = (long) (chunk % CHUNKS_PER_BITMAP) * SequenceSet.CHUNK;
    if (set.isFull(chunk)) {
      part.add(low, low + SequenceSet.CHUNK);
    } else if (!set.isEmpty(chunk)) {
      long[] words = new long[SequenceSet.WORDS];
      for (int w = 0; w < words.length; w++) {
        words[w] = set.word(chunk, w);
      }
      part.or(RoaringBitmap.addOffset(BitSetUtil.bitmapOf(words), low));
    }
    chunk++;
  }

  private static byte[] serialized(RoaringBitmap part, int upper) {
    int bitmaps = part.isEmpty() ? 0 : 1;
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(12 + part.serializedSizeInBytes());
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeLong(Long.reverseBytes(bitmaps));
      if (bitmaps > 0) {
        out.writeInt(Integer.reverseBytes(upper));
        part.serialize(out);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }
}
