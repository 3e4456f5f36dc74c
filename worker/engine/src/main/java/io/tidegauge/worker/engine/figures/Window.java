package io.tidegauge.worker.engine.figures;

import io.tidegauge.worker.engine.schedule.RateSchedule;

/**
 * The measured window: messages with {@code fromNs <= intended < untilNs}. Its epoch keeps windows
 * with different beginnings apart; moving the end keeps the epoch and all that was measured.
 *
 * @param schedule what the rate does from the window's beginning on; null if it stays
 */
public record Window(int epoch, long fromNs, long untilNs, RateSchedule schedule) {
  /** Nothing is measured yet. */
  public static final Window NONE = new Window(0, Long.MAX_VALUE, Long.MAX_VALUE);

  /** A window of a rate that stays. */
  public Window(int epoch, long fromNs, long untilNs) {
    this(epoch, fromNs, untilNs, null);
  }

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
    return new Window(from == fromNs ? epoch : epoch + 1, from, end, schedule);
  }

  /** The same window under a schedule. */
  public Window following(RateSchedule next) {
    return new Window(epoch, fromNs, untilNs, next);
  }

  /** How many records the schedule's messages are sorted into; 0 without one. */
  public int records() {
    return schedule == null ? 0 : schedule.records();
  }

  /** The record of an instant inside the window; only with a schedule. */
  int recordAt(long ns) {
    return schedule.recordAt(ns - fromNs);
  }
}
