package io.tidegauge.worker.engine.check;

import java.util.ArrayList;
import java.util.List;

/**
 * What was acknowledged and is missing: a pure comparison of sets.
 *
 * @param count missing messages
 * @param examples sequences of the first few
 */
public record Losses(long count, List<Long> examples) {
  /**
   * Finds the acknowledged messages of a producer that were not received.
   *
   * @param sent messages sent, sequences 0 to {@code sent - 1}
   * @param received the union over a subscription's consumers
   * @param unknown sequences that failed or have no outcome: they may or may not be stored, so they
   *     are never lost
   * @param examplesMax how many missing sequences to name
   */
  public static Losses find(long sent, SequenceSet received, SequenceSet unknown, int examplesMax) {
    long lost = 0;
    List<Long> examples = new ArrayList<>();
    int chunksUsed = (int) ((sent + SequenceSet.CHUNK - 1) / SequenceSet.CHUNK);
    for (int c = 0; c < chunksUsed; c++) {
      if (received.isFull(c)) {
        continue;
      }
      long from = (long) c * SequenceSet.CHUNK;
      for (int w = 0; w < SequenceSet.WORDS && from + w * 64L < sent; w++) {
        long first = from + w * 64L;
        long exists = sent - first >= 64 ? -1L : (1L << (sent - first)) - 1;
        long gone = exists & ~received.word(c, w) & ~unknown.word(c, w);
        lost += Long.bitCount(gone);
        while (gone != 0 && examples.size() < examplesMax) {
          examples.add(first + Long.numberOfTrailingZeros(gone));
          gone &= gone - 1;
        }
      }
    }
    return new Losses(lost, List.copyOf(examples));
  }
}
