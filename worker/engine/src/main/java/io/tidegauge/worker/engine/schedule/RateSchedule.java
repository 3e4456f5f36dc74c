package io.tidegauge.worker.engine.schedule;

import java.util.List;

/**
 * A rate that changes as it was planned to: phases one after the other, in each of which the rate
 * goes evenly from one value to another. Times count from the schedule's beginning, load in
 * messages. Immutable; memory and time for a look-up do not depend on how often it repeats.
 */
public final class RateSchedule {
  /**
   * One stretch of time.
   *
   * @param record number of the record that its messages' latencies are added to
   */
  public record Phase(double fromMsgsPerS, double toMsgsPerS, long lengthNs, int record) {
    /** Throws {@link IllegalArgumentException} with the reason if it makes no sense. */
    public Phase {
      if (!isRate(fromMsgsPerS) || !isRate(toMsgsPerS)) {
        throw new IllegalArgumentException("a phase's rates must be numbers of 0 or more");
      }
      if (lengthNs <= 0 || record < 0 || record >= RECORDS_MAX) {
        throw new IllegalArgumentException(
            "a phase needs a length above 0 and a record from 0 to " + (RECORDS_MAX - 1));
      }
    }

    private static boolean isRate(double msgsPerS) {
      return msgsPerS >= 0 && !Double.isInfinite(msgsPerS);
    }

    private double units() {
      return (fromMsgsPerS + toMsgsPerS) / 2 * (lengthNs / 1e9);
    }

    private double unitsAfter(double s) {
      return fromMsgsPerS * s + (toMsgsPerS - fromMsgsPerS) / (lengthNs / 1e9) / 2 * s * s;
    }

    /**
     * Seconds until so much load is due; the root is of a form that stays exact for level rates.
     */
    private double secondsFor(double units) {
      if (units <= 0) {
        return 0;
      }
      double bend = (toMsgsPerS - fromMsgsPerS) / (lengthNs / 1e9) / 2;
      double under = fromMsgsPerS * fromMsgsPerS + 4 * bend * units;
      return 2 * units / (fromMsgsPerS + Math.sqrt(Math.max(0, under)));
    }
  }

  /** Each record takes histograms of every recording thread. */
  public static final int RECORDS_MAX = 128;

  private final Phase[] phases;
  private final long[] startNs;
  private final double[] startUnits;
  private final boolean repeat;
  private final int records;

  /** Throws {@link IllegalArgumentException} if it would never send anything. */
  public RateSchedule(List<Phase> phases, boolean repeat) {
    this.phases = phases.toArray(new Phase[0]);
    this.repeat = repeat;
    this.startNs = new long[phases.size() + 1];
    this.startUnits = new double[phases.size() + 1];
    int most = 0;
    for (int i = 0; i < this.phases.length; i++) {
      startNs[i + 1] = startNs[i] + this.phases[i].lengthNs();
      startUnits[i + 1] = startUnits[i] + this.phases[i].units();
      most = Math.max(most, this.phases[i].record() + 1);
    }
    this.records = most;
    if (!(startUnits[this.phases.length] > 0)) {
      throw new IllegalArgumentException("a schedule must send something");
    }
  }

  /** How many records its phases name. */
  public int records() {
    return records;
  }

  /** The rate with which the schedule begins. */
  double firstMsgsPerS() {
    return phases[0].fromMsgsPerS();
  }

  /** The highest rate of any phase. */
  public double msgsPerSMax() {
    double most = 0;
    for (Phase phase : phases) {
      most = Math.max(most, Math.max(phase.fromMsgsPerS(), phase.toMsgsPerS()));
    }
    return most;
  }

  private double lastMsgsPerS() {
    return phases[phases.length - 1].toMsgsPerS();
  }

  /** Load due so long after the beginning. */
  double unitsAt(long ns) {
    long wholeNs = startNs[phases.length];
    double before = 0;
    long within = ns;
    if (ns >= wholeNs) {
      if (!repeat) {
        return startUnits[phases.length] + lastMsgsPerS() * ((ns - wholeNs) / 1e9);
      }
      before = (double) (ns / wholeNs) * startUnits[phases.length];
      within = ns % wholeNs;
    }
    int i = phaseAt(within);
    return before + startUnits[i] + phases[i].unitsAfter((within - startNs[i]) / 1e9);
  }

  /** When the load of so many messages is due; {@link Long#MAX_VALUE} if never. */
  long timeOf(double units) {
    double whole = startUnits[phases.length];
    long cycles = 0;
    double within = units;
    if (units >= whole) {
      if (!repeat) {
        double s = (units - whole) / lastMsgsPerS();
        return s < 9e9 ? startNs[phases.length] + (long) (s * 1e9) : Long.MAX_VALUE;
      }
      cycles = (long) (units / whole);
      within = Math.max(0, units - cycles * whole);
      if (within >= whole) {
        // Rounded up to the next beginning, which may be far behind the last message of this one.
        cycles++;
        within = 0;
      }
    }
    int i = phaseOf(within);
    long inside = (long) (phases[i].secondsFor(within - startUnits[i]) * 1e9);
    return cycles * startNs[phases.length] + startNs[i] + Math.min(inside, phases[i].lengthNs());
  }

  /** The rate in force so long after the beginning. */
  double msgsPerSAt(long ns) {
    long wholeNs = startNs[phases.length];
    if (ns >= wholeNs && !repeat) {
      return lastMsgsPerS();
    }
    long within = ns % wholeNs;
    Phase phase = phases[phaseAt(within)];
    double share = (double) (within - startNs[phaseAt(within)]) / phase.lengthNs();
    return phase.fromMsgsPerS() + (phase.toMsgsPerS() - phase.fromMsgsPerS()) * share;
  }

  /** The record of a message intended so long after the beginning. */
  public int recordAt(long ns) {
    long wholeNs = startNs[phases.length];
    long within = ns < wholeNs ? ns : repeat ? ns % wholeNs : wholeNs - 1;
    return phases[phaseAt(within)].record();
  }

  private int phaseAt(long ns) {
    int low = 0;
    int high = phases.length - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (startNs[middle] <= ns) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  /** The last phase that begins with no more load: of several with the same, the one that sends. */
  private int phaseOf(double units) {
    int low = 0;
    int high = phases.length - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (startUnits[middle] <= units) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }
}
