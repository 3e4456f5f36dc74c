package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.api.Threads;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.os.Heartbeat;
import io.tidegauge.worker.engine.os.ProcessUse;
import io.tidegauge.worker.engine.os.TaskClock;
import io.tidegauge.worker.engine.schedule.RateProfile;
import java.util.concurrent.locks.LockSupport;

/**
 * Sends the messages of one or several producers when they are due. Allocates nothing and takes no
 * lock per message; when it is behind it does not wait and reads the clock once per message.
 */
public final class LoadThread implements Runnable {
  private static final long LONG_SEND_NS = 1_000_000;
  static final long SLOT_PARK_NS = 200_000;
  private static final long SLOT_PARK_NS_MAX = 10_000_000;

  /** Looks at one producer before a thread sleeps that has no free slot. */
  private static final int SLOT_LOOKS = 50 * LoadThreads.PRODUCERS_EACH_MAX;

  private static final long NEVER = Long.MAX_VALUE;
  private static final long NOTHING = Long.MIN_VALUE;

  private final Producer[] producers;
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
   */
  LoadThread(
      String name,
      Producer[] producers,
      Live live,
      Values values,
      ErrorLog errors,
      Heartbeat heartbeat,
      long ownLagToleranceNs,
      double spinShareMax) {
    this.producers = producers;
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
    int beyond = Math.max(0, producers - LoadThreads.PRODUCERS_EACH_MAX);
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
    Producer first = null;
    long due = NEVER;
    boolean blocked = false;
    for (Producer p : producers) {
      if (p.blocking.isActive() && !p.hasFree()) {
        blocked = true;
        p.blocking.seen(now);
        continue;
      }
      long ns = p.dueNs(profile);
      if (ns < due) {
        due = ns;
        first = p;
      }
    }
    long stopAt = live.stopAtNs;
    if (due <= now && due <= stopAt && !(first.isClosedLoop() && now >= stopAt)) {
      send(first, due, now);
      return true;
    }
    if (blocked) {
      awaitSlot(now, due);
      return !(now >= stopAt && isClosedLoop());
    }
    if (now >= stopAt || due > stopAt) {
      return false;
    }
    awaitDue(due, now);
    return true;
  }

  private boolean isClosedLoop() {
    return producers[0].isClosedLoop();
  }

  private void send(Producer p, long due, long now) {
    Slot slot = p.take();
    if (slot == null) {
      p.blocking.begin(now);
      return;
    }
    if (p.blocking.isActive()) {
      endBlocking(p, now);
    }
    long intended = p.isClosedLoop() ? now : due;
    recorder.sending(live.window, intended, now, p.lag.of(now - intended));
    long sequence = p.nextSequence();
    byte[] value = slot.ownValue == null ? values.next(p) : slot.ownValue;
    MessageHeader.writeMessage(value, sequence, intended);
    slot.fill(value, p.keys.next(), sequence, intended, now);
    p.sent(sequence, now);
    if (lastSender != p) {
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

  private void awaitDue(long due, long now) {
    if (!isClosedLoop()) {
      for (Producer p : producers) {
        p.caughtUpIfNothingDueBefore(now, live.profile);
      }
    }
    waiter.towards(due, now);
  }

  /** Every producer that owes a message has all its messages in flight. */
  private void awaitSlot(long now, long due) {
    for (int i = 0; i < slotSpins; i++) {
      if (isAnySlotFree()) {
        return;
      }
      Thread.onSpinWait();
    }
    for (Producer p : producers) {
      if (p.blocking.wantsLook(now)) {
        p.blocking.look(cpuWaitNs(), p.ackThreadCpuWaitNs(), ProcessUse.gcPauseNs());
      }
      if (p.blocking.isActive()) {
        p.wake(thread);
      }
    }
    if (!isAnySlotFree()) {
      LockSupport.parkNanos(Math.max(1, Math.min(slotParkNs, due - now)));
    }
    for (Producer p : producers) {
      p.stopWaiting();
    }
  }

  private boolean isAnySlotFree() {
    for (Producer p : producers) {
      if (p.blocking.isActive() && p.hasFree()) {
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
    p.lag.blockedBySystem(excused);
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
    lastSender.lag.blockedBySystem(excused);
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
      recorder.neverSent(window, neverSent.count(p.schedule()));
    }
    if (neverSent.isEstimated()) {
      errors.add("engine", "messages due and never sent were too many to draw: estimated in part");
    }
  }
}
