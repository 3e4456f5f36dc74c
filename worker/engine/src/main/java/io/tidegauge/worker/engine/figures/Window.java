package io.tidegauge.worker.engine.figures;

/**
 * The measured window: messages with {@code fromNs <= intended < untilNs}. Its epoch tells windows
 * with different beginnings apart; moving the end keeps the epoch and all that was measured.
 */
public record Window(int epoch, long fromNs, long untilNs) {
  /** Nothing is measured yet. */
  public static final Window NONE = new Window(0, Long.MAX_VALUE, Long.MAX_VALUE);

  public boolean contains(long ns) {
    return ns >= fromNs && ns < untilNs;
  }

  public boolean isSet() {
    return fromNs != Long.MAX_VALUE;
  }

  /** Length of the part of an interval that is inside. */
  public long overlapNs(long startNs, long endNs) {
    return Math.max(0, Math.min(endNs, untilNs) - Math.max(startNs, fromNs));
  }

  /** The window that replaces this one. {@code until} 0 = open. */
  public Window next(long from, long until) {
    long end = until == 0 ? Long.MAX_VALUE : until;
    return new Window(from == fromNs ? epoch : epoch + 1, from, end);
  }
}
