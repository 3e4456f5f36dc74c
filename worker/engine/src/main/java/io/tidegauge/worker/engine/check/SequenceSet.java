package io.tidegauge.worker.engine.check;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongConsumer;

/**
 * A set of sequence numbers as bitmaps of 65,536, each dropped once it is full: memory is one bit
 * for each number that is missing or has full-chunk neighbours missing, and 8 bytes for each full
 * chunk. {@link Cursor#add} is lock-free and may be called by several threads if the set was made
 * shared; others may count and compare at any time.
 */
public final class SequenceSet {
  /** Numbers in a chunk. */
  public static final int CHUNK = 1 << 16;

  static final int WORDS = CHUNK / 64;
  private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);
  private static final long[] FULL = new long[0];

  private final boolean shared;
  private volatile AtomicReferenceArray<long[]> chunks = new AtomicReferenceArray<>(16);
  private volatile int collapsedBefore;

  /**
   * @param shared whether several threads add
   */
  public SequenceSet(boolean shared) {
    this.shared = shared;
  }

  /** A thread's place in the set: remembers the chunk it used last. One for each adding thread. */
  public final class Cursor {
    private long index = -1;
    private long[] words;

    /** Adds a number. Returns false if it was there. */
    public boolean add(long sequence) {
      long wanted = sequence >>> 16;
      if (wanted != index) {
        words = chunkForAdding((int) wanted);
        index = wanted;
      }
      long[] w = words;
      if (w == FULL) {
        return false;
      }
      int i = (int) (sequence & (CHUNK - 1)) >>> 6;
      long bit = 1L << sequence;
      if (shared) {
        return ((long) WORD.getAndBitwiseOr(w, i, bit) & bit) == 0;
      }
      long before = w[i];
      WORD.setRelease(w, i, before | bit);
      return (before & bit) == 0;
    }
  }

  public Cursor cursor() {
    return new Cursor();
  }

  private synchronized long[] chunkForAdding(int index) {
    AtomicReferenceArray<long[]> held = chunks;
    if (index >= held.length()) {
      AtomicReferenceArray<long[]> wider =
          new AtomicReferenceArray<>(Math.max(index + 1, held.length() * 2));
      for (int i = 0; i < held.length(); i++) {
        wider.set(i, held.get(i));
      }
      chunks = wider;
      held = wider;
    }
    long[] words = held.get(index);
    if (words == null) {
      words = new long[WORDS];
      held.set(index, words);
    }
    return words;
  }

  /**
   * Drops the bitmaps of chunks that are full. Called now and then by one observer; never changes
   * what the set holds.
   */
  public synchronized void collapse() {
    AtomicReferenceArray<long[]> held = chunks;
    boolean allBefore = true;
    for (int c = collapsedBefore; c < held.length(); c++) {
      long[] words = held.get(c);
      if (words != null && words != FULL && isFull(words)) {
        held.set(c, FULL);
        words = FULL;
      }
      allBefore &= words == FULL;
      if (allBefore) {
        collapsedBefore = c + 1;
      }
    }
  }

  private static boolean isFull(long[] words) {
    for (int i = 0; i < WORDS; i++) {
      if ((long) WORD.getAcquire(words, i) != -1L) {
        return false;
      }
    }
    return true;
  }

  /** All members are in chunks below this one. */
  int chunks() {
    return chunks.length();
  }

  /** Chunks that take a bitmap's memory now. */
  public int bitmaps() {
    AtomicReferenceArray<long[]> held = chunks;
    int n = 0;
    for (int c = 0; c < held.length(); c++) {
      long[] words = held.get(c);
      n += words != null && words != FULL ? 1 : 0;
    }
    return n;
  }

  /** Whether nothing was ever added, as cheaply as possible. */
  public boolean hasNoChunks() {
    AtomicReferenceArray<long[]> held = chunks;
    for (int c = 0; c < held.length(); c++) {
      if (held.get(c) != null) {
        return false;
      }
    }
    return true;
  }

  /** 64 members from {@code chunk * CHUNK + word * 64} on, as bits. */
  long word(int chunk, int word) {
    AtomicReferenceArray<long[]> held = chunks;
    if (chunk >= held.length()) {
      return 0;
    }
    long[] words = held.get(chunk);
    if (words == null) {
      return 0;
    }
    return words == FULL ? -1L : (long) WORD.getAcquire(words, word);
  }

  boolean isFull(int chunk) {
    AtomicReferenceArray<long[]> held = chunks;
    return chunk < held.length() && held.get(chunk) == FULL;
  }

  boolean isEmpty(int chunk) {
    AtomicReferenceArray<long[]> held = chunks;
    return chunk >= held.length() || held.get(chunk) == null;
  }

  public boolean contains(long sequence) {
    int chunk = (int) (sequence >>> 16);
    int word = (int) (sequence & (CHUNK - 1)) >>> 6;
    return (word(chunk, word) & (1L << sequence)) != 0;
  }

  /** Reports all members below a limit, in order. */
  public void forEach(long limit, LongConsumer member) {
    for (int c = 0; (long) c * CHUNK < limit; c++) {
      if (isEmpty(c)) {
        continue;
      }
      for (int w = 0; w < WORDS; w++) {
        long bits = word(c, w);
        while (bits != 0) {
          member.accept((long) c * CHUNK + w * 64L + Long.numberOfTrailingZeros(bits));
          bits &= bits - 1;
        }
      }
    }
  }

  /** Members of this set that are in the other too. */
  public long countCommon(SequenceSet other) {
    long n = 0;
    int limit = chunks.length();
    for (int c = 0; c < limit; c++) {
      if (isEmpty(c) || other.isEmpty(c)) {
        continue;
      }
      for (int w = 0; w < WORDS; w++) {
        n += Long.bitCount(word(c, w) & other.word(c, w));
      }
    }
    return n;
  }
}
