package io.tidegauge.worker.engine.schedule;

/** Intended send times of one producer. Used by its load thread only. */
public final class Schedule {
  private final Arrivals arrivals;
  private RateProfile profile;
  private double nextUnits;
  private long nextNs;
  private long lastNs = Long.MIN_VALUE;

  public Schedule(Arrivals arrivals, RateProfile profile) {
    this.arrivals = arrivals;
    this.profile = profile;
    this.nextUnits = arrivals.next();
    this.nextNs = profile.timeOf(nextUnits);
  }

  /** Intended time of the next message, which stays the next until {@link #advance}. */
  public long nextNs(RateProfile latest) {
    if (latest != profile) {
      profile = latest;
      place();
    }
    return nextNs;
  }

  /** The next message has been dealt with. */
  public void advance() {
    lastNs = nextNs;
    nextUnits = arrivals.next();
    place();
  }

  /**
   * Whether messages are due at even intervals of the load, not at random. Then {@link
   * #countBefore} takes no time to speak of, however many there are.
   */
  public boolean isEven() {
    return !Double.isNaN(arrivals.peek(1));
  }

  /**
   * Messages from the next one on that are due before an instant, for even schedules. By halving an
   * interval: exact, and no slower for thousands of millions.
   */
  public long countBefore(RateProfile latest, long ns) {
    if (nextNs(latest) >= ns) {
      return 0;
    }
    long due = 1;
    long step = 1;
    while (latest.timeOf(arrivals.peek(due + step - 1)) < ns) {
      due += step;
      step *= 2;
    }
    // The first "due" messages are due before, the one "due + step" is not.
    long above = due + step;
    while (above - due > 1) {
      long middle = due + (above - due) / 2;
      if (latest.timeOf(arrivals.peek(middle - 1)) < ns) {
        due = middle;
      } else {
        above = middle;
      }
    }
    return due;
  }

  /** How many producers share the load. */
  public int producers() {
    return arrivals.producers();
  }

  private void place() {
    long ns = profile.timeOf(nextUnits);
    nextNs = Math.max(ns, lastNs);
  }
}
