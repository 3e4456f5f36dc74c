package io.tidegauge.worker.engine.schedule;

import java.util.Arrays;

/**
 * The total rate over time: piecewise constant, at last perhaps a schedule; immutable. Time is
 * counted in nanoseconds, load in units of one message: a profile says at which instant the load of
 * {@code units} messages is due. A change of rate appends a segment, so it stretches or squeezes
 * the gaps after its instant and leaves every earlier message, sent or owed, where it was.
 */
public final class RateProfile {
  private final long[] fromNs;
  private final double[] fromUnits;
  private final double[] msgsPerS;

  /** What the last segment follows instead of a constant rate; null if it does not. */
  private final RateSchedule schedule;

  private RateProfile(long[] fromNs, double[] fromUnits, double[] msgsPerS, RateSchedule schedule) {
    this.fromNs = fromNs;
    this.fromUnits = fromUnits;
    this.msgsPerS = msgsPerS;
    this.schedule = schedule;
  }

  /** A constant rate from an instant on; 0 means that nothing is due until the rate is changed. */
  public static RateProfile startingAt(long startNs, double msgsPerS) {
    checkRate(msgsPerS);
    return new RateProfile(new long[] {startNs}, new double[] {0}, new double[] {msgsPerS}, null);
  }

  /**
   * The same profile with another rate from {@code atNs} on, or from the last change on if that is
   * later.
   */
  public RateProfile withRate(long atNs, double newMsgsPerS) {
    checkRate(newMsgsPerS);
    return with(atNs, newMsgsPerS, null);
  }

  /** The same profile, which follows a schedule that begins at {@code atNs}. */
  public RateProfile withSchedule(long atNs, RateSchedule next) {
    return with(atNs, next.firstMsgsPerS(), next);
  }

  private RateProfile with(long atNs, double newMsgsPerS, RateSchedule next) {
    if (schedule != null) {
      throw new IllegalStateException("the rate follows a schedule");
    }
    int n = fromNs.length;
    long at = Math.max(atNs, fromNs[n - 1]);
    long[] ns = Arrays.copyOf(fromNs, n + 1);
    double[] units = Arrays.copyOf(fromUnits, n + 1);
    double[] rates = Arrays.copyOf(msgsPerS, n + 1);
    ns[n] = at;
    units[n] = unitsAt(at);
    rates[n] = newMsgsPerS;
    return new RateProfile(ns, units, rates, next);
  }

  /** Load due by an instant, in messages. */
  public double unitsAt(long ns) {
    int i = segmentAt(ns);
    if (i < 0) {
      return 0;
    }
    if (schedule != null && i == fromNs.length - 1) {
      return fromUnits[i] + schedule.unitsAt(ns - fromNs[i]);
    }
    return fromUnits[i] + (ns - fromNs[i]) * msgsPerS[i] / 1e9;
  }

  /**
   * The instant at which the load of {@code units} is due; {@link Long#MAX_VALUE} if it never is at
   * the present rate.
   */
  public long timeOf(double units) {
    for (int i = fromNs.length - 1; i >= 0; i--) {
      if (units >= fromUnits[i]) {
        if (schedule != null && i == fromNs.length - 1) {
          long after = schedule.timeOf(units - fromUnits[i]);
          return after < Long.MAX_VALUE - fromNs[i] ? fromNs[i] + after : Long.MAX_VALUE;
        }
        if (msgsPerS[i] == 0) {
          return i == fromNs.length - 1 ? Long.MAX_VALUE : fromNs[i];
        }
        double afterNs = (units - fromUnits[i]) * (1e9 / msgsPerS[i]);
        return afterNs < Long.MAX_VALUE - fromNs[i] ? fromNs[i] + (long) afterNs : Long.MAX_VALUE;
      }
    }
    return fromNs[0];
  }

  /** Rate in force at an instant. */
  public double msgsPerSAt(long ns) {
    int i = segmentAt(ns);
    if (schedule != null && i == fromNs.length - 1) {
      return schedule.msgsPerSAt(ns - fromNs[i]);
    }
    return i < 0 ? 0 : msgsPerS[i];
  }

  /** The first instant of the schedule. */
  public long startNs() {
    return fromNs[0];
  }

  private int segmentAt(long ns) {
    int i = fromNs.length - 1;
    while (i >= 0 && fromNs[i] > ns) {
      i--;
    }
    return i;
  }

  private static void checkRate(double msgsPerS) {
    if (!(msgsPerS >= 0) || Double.isInfinite(msgsPerS)) {
      throw new IllegalArgumentException("the rate must be a number of 0 or more: " + msgsPerS);
    }
  }
}
