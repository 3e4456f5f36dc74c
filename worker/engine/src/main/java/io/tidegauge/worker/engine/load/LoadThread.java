package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.api.Threads;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.os.Heartbeat;
import io.tidegauge.worker.engine.os.ProcessUse;
import io.tidegauge.worker.engine.os.TaskClock;
import io.tidegauge.worker.engine.schedule.RateProfile;
import io.tidegauge.worker.engine.schedule.Schedule;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * Sends the messages of one or several producers when they are due. Allocates nothing and takes no
 * lock per message; when it is behind it does not wait and reads the clock once per message.
 */
public final class LoadThread implements Runnable {
  private static final long LONG_SEND_NS = 1_000_000;
  static final long SLOT_PARK_NS = 200_000;
  private static final long SLOT_PARK_NS_MAX = 10_000_000;

  /** With more producers than this a thread that has no free slot looks less often. */
  private static final int FEW_PRODUCERS = 16;

  /** Looks at one producer before a thread sleeps that has no free slot. */
  private static final int SLOT_LOOKS = 50 * FEW_PRODUCERS;

  /**
   * One such part of a wait is left for sending those that are due before the last one, which is
   * waited for by itself if that takes less.
   */
  private static final int SENDING_PARTS = 10;

  private static final long NEVER = Long.MAX_VALUE;
  private static final long NOTHING = Long.MIN_VALUE;

  private final Producer[] producers;

  /** Those that are not {@link #blocked}, by when their next messages are due. */
  private final PriorityQueue<Producer> due;

  /** The first so many have messages due and none free. */
  private final Producer[] blocked;

  private int blockedCount;

  /** By which the due times of {@link #due} were looked up. */
  private RateProfile placedBy;

  /** How often there was time to wait: then nobody in {@link #due} owes anything. */
  private long waits;

  private final long grainNs;

  /** What is due until then is sent without gathering anew. */
  private long gatheredNs = NOTHING;

  private final int slotSpins;
  private final long slotParkNs;
  private final Live live;
  private final Values values;
  private final ErrorLog errors;
  private final LoadRecorder recorder;
  private final Waiter waiter;
  private final Thread thread;

  private volatile TaskClock clock;
  private final Accounts accounts = new Accounts();
  private final Heartbeat heartbeat;
  private volatile boolean ended;
  private Producer lastSender;

  /** When the last send began, {@link #NOTHING} once it was looked at; the rest is not used. */
  private final OwnCells mine = new OwnCells();

  /**
   * @param values null if every message in flight has an array of its own
   * @param spinShareMax of the time, 0 to 1, that may be spun away while waiting
   * @param grainNs half of the messages may be so late, to be sent together with others, where at
   *     least one is to be expected in it; 0 = each when it is due
   */
  LoadThread(
      String name,
      Producer[] producers,
      Live live,
      Values values,
      ErrorLog errors,
      Heartbeat heartbeat,
      long ownLagToleranceNs,
      double spinShareMax,
      long grainNs) {
    this.producers = producers;
    this.due = new PriorityQueue<>(producers.length, Comparator.comparingLong(Producer::dueNs));
    this.blocked = new Producer[producers.length];
    this.grainNs = grainNs;
    this.slotSpins = slotSpins(producers.length);
    this.slotParkNs = slotParkNs(producers.length);
    this.live = live;
    this.values = values;
    this.errors = errors;
    this.heartbeat = heartbeat;
    this.recorder = new LoadRecorder(ownLagToleranceNs);
    this.waiter = new Waiter(spinShareMax);
    this.thread = Threads.daemon(name, this);
    for (Producer p : producers) {
      p.runBy(thread, values == null ? 1 : values.count());
      p.blocking.sleepsFor(slotParkNs);
    }
  }

  /** How often all producers are looked at before the thread sleeps. */
  static int slotSpins(int producers) {
    return Math.max(1, Math.min(50, SLOT_LOOKS / producers));
  }

  /**
   * How long a thread sleeps at most while producers have no free slot. An outcome wakes it; what
   * is seen later is only what it was kept from meanwhile. With more producers than usual there are
   * many such threads, each with much to look at.
   */
  static long slotParkNs(int producers) {
    int beyond = Math.max(0, producers - FEW_PRODUCERS);
    return Math.min(SLOT_PARK_NS_MAX, SLOT_PARK_NS * (1 + beyond / 4));
  }

  public void start() {
    thread.start();
  }

  /** Makes the thread look at changed orders. */
  public void wake() {
    LockSupport.unpark(thread);
  }

  public LoadRecorder recorder() {
    return recorder;
  }

  public boolean hasEnded() {
    return ended;
  }

  public void join(long millis) throws InterruptedException {
    thread.join(Math.max(1, millis));
  }

  /** Called ten times a second by the sampler: the base against which a long send is judged. */
  public void tick() {
    accounts.note(System.nanoTime(), cpuWaitNs(), ProcessUse.gcPauseNs());
  }

  /** Time for which the thread has waited for a CPU. */
  public long cpuWaitNs() {
    TaskClock known = clock;
    return known == null ? 0 : known.cpuWaitNs();
  }

  @Override
  public void run() {
    TaskClock.sharpenTimers();
    clock = TaskClock.ofCurrentThread();
    try {
      recorder.start(live.profile.startNs());
      while (!live.aborted && turn()) {
        // Each turn sends one message or waits a little.
      }
      countNeverSent();
    } catch (RuntimeException | Error e) {
      errors.add("engine", e);
    } finally {
      ended = true;
      clock.close();
    }
  }

  /** Sends one message or waits a little. Returns false once nothing is left to do. */
  private boolean turn() {
    long now = System.nanoTime();
    long sentNs = mine.lastSentNs;
    if (sentNs != NOTHING) {
      mine.lastSentNs = NOTHING;
      if (now - sentNs > LONG_SEND_NS) {
        longSend(sentNs, now);
      }
    }
    RateProfile profile = live.profile;
    if (profile != placedBy) {
      placeAll(profile);
    }
    if (blockedCount > 0) {
      takeBack(profile, now);
    }
    Producer first = due.peek();
    long dueNs = first == null ? NEVER : first.dueNs();
    long stopAt = live.stopAtNs;
    if (dueNs <= now && dueNs <= stopAt && !(first.isClosedLoop() && now >= stopAt)) {
      send(first, dueNs, profile, now);
      return true;
    }
    if (blockedCount > 0) {
      awaitSlot(now, dueNs);
      return !(now >= stopAt && isClosedLoop());
    }
    if (now >= stopAt || dueNs > stopAt) {
      return false;
    }
    awaitDue(dueNs, profile, now);
    return true;
  }

  /** Looks up anew when messages are due: the rate has changed, or the trial begins. */
  private void placeAll(RateProfile profile) {
    Producer[] all = placedBy == null ? producers : due.toArray(new Producer[0]);
    placedBy = profile;
    due.clear();
    for (Producer p : all) {
      p.place(profile);
      due.add(p);
    }
  }

  /** Blocked producers with a free message send again, in their turn. */
  private void takeBack(RateProfile profile, long now) {
    int still = 0;
    for (int i = 0; i < blockedCount; i++) {
      Producer p = blocked[i];
      if (p.hasFree()) {
        p.place(profile);
        due.add(p);
      } else {
        p.blocking.seen(now);
        blocked[still++] = p;
      }
    }
    blockedCount = still;
  }

  private boolean isClosedLoop() {
    return producers[0].isClosedLoop();
  }

  /** Sends the next message of the producer whose turn it is. */
  private void send(Producer p, long dueNs, RateProfile profile, long now) {
    Window window = live.window;
    boolean measured = window.contains(p.isClosedLoop() ? now : dueNs);
    if (measured && p.windowLeft() == 0) {
      // It has sent its share of the messages: it never has a turn again.
      due.poll();
      return;
    }
    Slot slot = p.take();
    if (slot == null) {
      p.blocking.begin(now);
      blocked[blockedCount++] = due.poll();
      return;
    }
    if (p.blocking.isActive()) {
      endBlocking(p, now);
    }
    long intended = p.isClosedLoop() ? now : dueNs;
    recorder.sending(window, intended, now, p.lag.of(now - intended, waits));
    if (measured) {
      p.sentInWindow();
    }
    long sequence = p.nextSequence();
    byte[] value = slot.ownValue == null ? values.next(p) : slot.ownValue;
    p.write(value, sequence, intended);
    slot.fill(value, p.keys.next(), sequence, intended, now);
    p.sent(sequence, now);
    moveOn(p, profile);
    if (lastSender != p) {
      // Mostly it is the same, and storing a reference costs more than looking.
      lastSender = p;
    }
    mine.lastSentNs = now;
    try {
      p.client.send(slot);
    } catch (RuntimeException e) {
      if (slot.isInFlight()) {
        slot.failed(e);
      }
    }
  }

  /** The producer whose turn it was waits for its next. */
  private void moveOn(Producer p, RateProfile profile) {
    if (producers.length == 1) {
      p.place(profile);
      return;
    }
    // Taken out while its place in the order is still right.
    due.poll();
    p.place(profile);
    due.add(p);
  }

  /** Nobody is blocked and nobody owes a message. */
  private void awaitDue(long dueNs, RateProfile profile, long now) {
    waits++;
    long gatherNs = grainNs == 0 || isClosedLoop() || dueNs == NEVER ? 0 : gatherNs(profile, dueNs);
    if (gatherNs > 0 && dueNs > gatheredNs) {
      gatheredNs = dueNs + gatherNs;
      waiter.gatherUntil(gatheredNs - gatherNs / SENDING_PARTS, now);
    } else {
      waiter.towards(dueNs, now);
    }
  }

  private long gatherNs(RateProfile profile, long dueNs) {
    Schedule schedule = producers[0].schedule();
    double mine = (double) producers.length / schedule.producers();
    return gatherNs(grainNs, profile.msgsPerSAt(dueNs) * mine, schedule.isEven());
  }

  /**
   * How long to wait from when a message is due for others to be sent with it, so that half of all
   * are at most a grain late. 0 where no other is to be expected within a grain.
   *
   * <p>Where messages are due at even intervals, those that are sent together are late by 0, 1, 2
   * ... intervals: as many as fit into two grains. Where they are due at random, one is late by the
   * whole wait and the others by half of it on average.
   */
  static long gatherNs(long grainNs, double msgsPerS, boolean even) {
    double perGrain = msgsPerS * grainNs / 1e9;
    // A little less, since rates and their shares are rounded.
    if (perGrain <= 0.999) {
      return 0;
    }
    double grains = even ? Math.floor(2 * perGrain + 0.002) / perGrain : 2 - 1 / perGrain;
    return (long) (grainNs * grains);
  }

  /** Every producer that owes a message has all its messages in flight. */
  private void awaitSlot(long now, long dueNs) {
    for (int i = 0; i < slotSpins; i++) {
      if (isAnySlotFree()) {
        return;
      }
      Thread.onSpinWait();
    }
    for (int i = 0; i < blockedCount; i++) {
      Producer p = blocked[i];
      if (p.blocking.wantsLook(now)) {
        p.blocking.look(cpuWaitNs(), p.ackThreadCpuWaitNs(), ProcessUse.gcPauseNs());
      }
      p.wake(thread);
    }
    if (!isAnySlotFree()) {
      LockSupport.parkNanos(Math.max(1, Math.min(slotParkNs, dueNs - now)));
    }
    for (int i = 0; i < blockedCount; i++) {
      blocked[i].stopWaiting();
    }
  }

  private boolean isAnySlotFree() {
    for (int i = 0; i < blockedCount; i++) {
      if (blocked[i].hasFree()) {
        return true;
      }
    }
    return false;
  }

  private void endBlocking(Producer p, long now) {
    Window window = live.window;
    recorder.blocked(window, p.blocking.sinceNs(), now);
    long excused =
        p.blocking.hasLooked()
            ? p.blocking.end(now, cpuWaitNs(), p.ackThreadCpuWaitNs(), ProcessUse.gcPauseNs())
            : p.blocking.end(now, 0, 0, 0);
    p.lag.blockedBySystem(excused, waits);
  }

  /**
   * A call of the client took more than 1 ms: back-pressure, unless the thread had no CPU or the
   * whole process stood still.
   */
  private void longSend(long sentNs, long now) {
    Accounts.Reading before = accounts.before(sentNs);
    long cpuWait = cpuWaitNs();
    long gcPause = ProcessUse.gcPauseNs();
    accounts.note(now, cpuWait, gcPause);
    // The heartbeat notices collections too: the same pause must not count twice.
    long pausedNs = Math.max(gcPause - before.gcPauseNs(), heartbeat.pausedNs(sentNs, now));
    long excused = OwnLag.excusable(now - sentNs, cpuWait - before.cpuWaitNs(), pausedNs);
    recorder.blocked(live.window, sentNs, now);
    lastSender.lag.blockedBySystem(excused, waits);
    for (Producer p : producers) {
      p.blocking.skip(excused);
    }
  }

  private void countNeverSent() {
    if (isClosedLoop()) {
      return;
    }
    Window window = live.window;
    NeverSent neverSent = new NeverSent(live.profile, window, live.stopAtNs, System.nanoTime());
    for (Producer p : producers) {
      recorder.neverSent(window, Math.min(p.windowLeft(), neverSent.count(p.schedule())));
    }
    if (neverSent.isEstimated()) {
      errors.add("engine", "messages due and never sent were too many to draw: estimated in part");
    }
  }
}
