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

  private void place() {
    long ns = profile.timeOf(nextUnits);
    nextNs = Math.max(ns, lastNs);
  }
}
