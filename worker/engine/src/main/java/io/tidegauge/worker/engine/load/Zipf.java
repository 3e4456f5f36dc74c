package io.tidegauge.worker.engine.load;

/**
 * Numbers from 0 whose frequency falls with a power of their rank, by the alias method: whatever
 * their count, each is drawn with one look into each of two tables (M. D. Vose, A Linear Algorithm
 * for Generating Random Numbers with a Given Distribution, 1991).
 */
final class Zipf {
  /** Of a column: up to which 32-bit number it is its own; beyond it, its alias's. */
  private final long[] kept;

  private final int[] alias;

  Zipf(int count, double exponent) {
    kept = new long[count];
    alias = new int[count];
    double[] scaled = new double[count];
    double sum = 0;
    for (int i = 0; i < count; i++) {
      scaled[i] = Math.pow(i + 1.0, -exponent);
      sum += scaled[i];
    }
    int[] order = new int[count];
    // Those that fill less than a column from the front, the others from the back.
    int small = 0;
    int large = count;
    for (int i = 0; i < count; i++) {
      scaled[i] *= count / sum;
      order[scaled[i] < 1 ? small++ : --large] = i;
    }
    int next = small;
    for (int done = 0; done < small && next < count; done++) {
      int less = order[done];
      int more = order[next];
      keep(less, scaled[less], more);
      scaled[more] -= 1 - scaled[less];
      if (scaled[more] < 1) {
        // It comes after those that are less already.
        order[small++] = more;
        next++;
      }
    }
    for (int i = 0; i < count; i++) {
      if (kept[i] == 0) {
        keep(i, 1, i);
      }
    }
  }

  private void keep(int column, double share, int other) {
    kept[column] = Math.max(1, Math.round(share * (1L << 32)));
    alias[column] = other;
  }

  /**
   * @param random 64 of its bits are used
   */
  int at(long random) {
    int column = (int) (((random >>> 32) * kept.length) >>> 32);
    return (random & 0xFFFF_FFFFL) < kept[column] ? column : alias[column];
  }
}
