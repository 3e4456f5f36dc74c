package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.engine.figures.Recorder;
import io.tidegauge.worker.engine.os.Heartbeat;
import java.util.ArrayList;
import java.util.List;

/**
 * The load threads of a trial. Where a client's send may block, for its socket or its server, or
 * the rate has no bound, there is one for each producer; else as many as the rate needs, since each
 * thread that waits for what is due costs CPU. Producers share threads evenly.
 */
public final class LoadThreads {
  /** More threads than this only fight for the CPUs. */
  public static final int THREADS_MAX = 64;

  /** A thread that sends so much still has time to wait, so that it is rarely late. */
  static final double MSGS_PER_S_EACH = 50_000;

  static final double BYTES_PER_S_EACH = 64 << 20;

  /** While all of them are blocked, a thread looks at each of its producers. */
  static final int PRODUCERS_EACH_MAX = 1_024;

  /**
   * All threads together spin away no more of the CPUs, so that clients and figures have theirs,
   * whatever share each may.
   */
  static final double SPIN_SHARE_OF_CPUS = 0.25;

  /** Where CPUs are scarce, half of the messages may be so late, to be sent together. */
  public static final long GRAIN_NS = 50_000;

  /** So many CPUs are scarce: servers and clients share them. */
  private static final int FEW_CPUS = 4;

  private final List<LoadThread> threads = new ArrayList<>();
  private final Heartbeat heartbeat = new Heartbeat();

  /**
   * @param ownValues whether every message in flight has an array of its own
   * @param sharedMsgsPerSMax the highest total rate, of the whole trial; infinite where there is
   *     none, or a send may block
   * @param producersInTrial of all workers
   * @param spinShareMax of the time, 0 to 1, that each thread may spin away while it waits, as far
   *     as the CPUs allow that to all ({@link #spinShare})
   * @param grainNs half of the messages may be so late, to be sent together with others; 0 = each
   *     when it is due
   */
  public LoadThreads(
      List<Producer> producers,
      Producer.Context context,
      boolean ownValues,
      long ownLagToleranceNs,
      double sharedMsgsPerSMax,
      int producersInTrial,
      double spinShareMax,
      long grainNs) {
    int messageBytes = context.pool().messageBytes();
    double msgsPerS = sharedMsgsPerSMax * producers.size() / Math.max(1, producersInTrial);
    int count = producers.isEmpty() ? 0 : countFor(producers.size(), msgsPerS, messageBytes);
    double spinShare = spinShare(spinShareMax, count, Runtime.getRuntime().availableProcessors());
    // As many bodies as with one worker: which of them a message has must not depend on that.
    int countInTrial = countFor(producersInTrial, sharedMsgsPerSMax, messageBytes);
    for (int t = 0; t < count; t++) {
      List<Producer> mine = new ArrayList<>();
      for (int p = t; p < producers.size(); p += count) {
        mine.add(producers.get(p));
      }
      Values values =
          ownValues ? null : new Values(context.pool(), context.trialId(), countInTrial);
      threads.add(
          new LoadThread(
              "tg-load-" + t,
              mine.toArray(new Producer[0]),
              context.live(),
              values,
              context.errors(),
              heartbeat,
              ownLagToleranceNs,
              spinShare,
              grainNs));
    }
  }

  /** Threads for so many producers that together send so much. */
  static int countFor(int producers, double msgsPerS, int messageBytes) {
    double each = Math.min(MSGS_PER_S_EACH, BYTES_PER_S_EACH / messageBytes);
    double needed =
        Math.max(Math.ceil(msgsPerS / each), Math.ceil(1.0 * producers / PRODUCERS_EACH_MAX));
    return (int) Math.max(1, Math.min(Math.min(producers, THREADS_MAX), needed));
  }

  /**
   * How late half of the messages may be, to be sent together: as asked for, if it is not negative.
   * Else {@link #GRAIN_NS} on few CPUs, unless more spinning than usual was asked for.
   */
  public static long grainNs(long askedNs, double spinShareMax, double usualSpinShare, int cpus) {
    if (askedNs >= 0) {
      return askedNs;
    }
    return cpus <= FEW_CPUS && spinShareMax <= usualSpinShare ? GRAIN_NS : 0;
  }

  /** What each of so many threads may spin away on so many CPUs; one alone has what it may have. */
  public static double spinShare(double spinShareMax, int threads, int cpus) {
    double together = Math.max(spinShareMax, Math.min(spinShareMax, SPIN_SHARE_OF_CPUS) * cpus);
    return Math.min(spinShareMax, together / Math.max(1, threads));
  }

  public int count() {
    return threads.size();
  }

  public void start() {
    heartbeat.start();
    threads.forEach(LoadThread::start);
  }

  /** After the threads have ended. */
  public void stop() {
    heartbeat.stop();
  }

  public void wake() {
    threads.forEach(LoadThread::wake);
  }

  public void tick() {
    threads.forEach(LoadThread::tick);
  }

  public boolean haveEnded() {
    return threads.stream().allMatch(LoadThread::hasEnded);
  }

  /** Waits until all threads have ended, for at most this long each. */
  public void join(long millis) throws InterruptedException {
    for (LoadThread t : threads) {
      t.join(millis);
    }
  }

  /** Time for which load threads were runnable but had no CPU, summed. */
  public long cpuWaitNs() {
    return threads.stream().mapToLong(LoadThread::cpuWaitNs).sum();
  }

  public List<LoadRecorder> recorders() {
    return threads.stream().map(LoadThread::recorder).toList();
  }

  /** Sum of a counter over all threads. */
  public long sum(int counter) {
    return Recorder.sum(recorders(), counter);
  }

  /** Sum of a counter of the window over the threads that know the window. */
  public long sum(int counter, int epoch) {
    return Recorder.sum(recorders(), counter, epoch);
  }
}
