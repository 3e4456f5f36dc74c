package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.engine.check.SequenceSet;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.history.HistoryFile;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;
import io.tidegauge.worker.engine.message.ShortMessage;
import io.tidegauge.worker.engine.schedule.RateProfile;
import io.tidegauge.worker.engine.schedule.Schedule;
import java.util.concurrent.locks.LockSupport;
import org.jctools.queues.MpscArrayQueue;

/**
 * One producer: its client, its schedule, its messages in flight. Sending is its load thread's
 * business; outcomes may be reported by any thread.
 */
public final class Producer {
  /** What all producers of a trial share. */
  public record Context(
      long trialId, PayloadPool pool, Live live, AckRecorders acks, ErrorLog errors) {}

  final int index;
  final MessageProducer client;
  private Schedule schedule;
  final Keys keys;
  final OwnLag lag = new OwnLag();
  final Blocking blocking = new Blocking();

  private final Context context;
  private final Slot[] slots;
  private final MpscArrayQueue<Slot> free;
  private final Slot[] freeHere;

  /**
   * Where messages of several sizes have arrays of their own: those at rest, which go in turn so
   * that no size comes oftener than others. Else null, and each slot keeps its own.
   */
  private final MpscArrayQueue<byte[]> freeValues;

  private final int wakeAt;
  private final SequenceSet failed = new SequenceSet(false);
  private final SequenceSet.Cursor failing = failed.cursor();
  private final OwnCells mine = new OwnCells();
  private Thread loadThread;
  private volatile Thread waiter;
  private volatile AckRecorder lastAcker;

  /**
   * A producer without a history.
   *
   * @param slotCount messages that may be in flight
   * @param ownValues how many arrays of its own it has where each message in flight needs one, at
   *     least {@code slotCount}; else 0
   */
  public Producer(
      int index, MessageProducer client, Keys keys, int slotCount, int ownValues, Context context) {
    this(index, client, keys, slotCount, ownValues, context, null);
  }

  /**
   * The same, writing down what becomes of its messages.
   *
   * @param history null without one
   */
  public Producer(
      int index,
      MessageProducer client,
      Keys keys,
      int slotCount,
      int ownValues,
      Context context,
      HistoryFile history) {
    this.index = index;
    this.client = client;
    this.keys = keys;
    this.context = context;
    this.slots = new Slot[slotCount];
    this.free = new MpscArrayQueue<>(Math.max(2, slotCount));
    this.freeHere = new Slot[slotCount];
    this.wakeAt = Math.max(1, slotCount / 16);
    this.freeValues =
        ownValues > 0 && context.pool().isMixed()
            ? new MpscArrayQueue<>(Math.max(2, ownValues))
            : null;
    for (int i = 0; i < ownValues && freeValues != null; i++) {
      freeValues.offer(newValue(index * ownValues + i));
    }
    for (int i = 0; i < slotCount; i++) {
      byte[] own = ownValues > 0 && freeValues == null ? newValue(index * slotCount + i) : null;
      slots[i] = history == null ? new Slot(this, own) : new RecordedSlot(this, own, history);
      // Those in the middle are used first: mostly few are in use, and their neighbours in memory
      // rest.
      freeHere[(slotCount - 1 - i + slotCount / 2) % slotCount] = slots[i];
    }
    mine.freeHere = slotCount;
  }

  /**
   * Sets when to send; without a schedule the producer runs in a closed loop. Before its load
   * thread is started.
   */
  public void follow(Schedule newSchedule) {
    schedule = newSchedule;
  }

  Schedule schedule() {
    return schedule;
  }

  /** Sets how many messages to send in the measured window. Before its load thread is started. */
  public void limitWindow(long messages) {
    mine.windowLeft = messages;
  }

  /** Messages that may still be sent in the measured window. By the load thread only. */
  long windowLeft() {
    return mine.windowLeft;
  }

  void sentInWindow() {
    mine.windowLeft--;
  }

  /**
   * @param bodies how many {@link #nextBody} has to choose from
   */
  void runBy(Thread thread, int bodies) {
    loadThread = thread;
    mine.body = index % bodies;
  }

  /** The next message's body by number: it follows from producer and sequence alone. */
  int nextBody(int bodies) {
    int body = (int) mine.body;
    mine.body = body + 1 == bodies ? 0 : body + 1;
    return body;
  }

  private byte[] newValue(int number) {
    int body = Math.floorMod(number, context.pool().size());
    return context.pool().newValue(context.trialId(), index, body);
  }

  /** A free message, or null. By the load thread only. */
  Slot take() {
    Slot slot = mine.freeHere > 0 ? freeHere[(int) --mine.freeHere] : free.relaxedPoll();
    if (slot != null && freeValues != null) {
      slot.ownValue = freeValues.poll();
    }
    return slot;
  }

  boolean hasFree() {
    return mine.freeHere > 0 || !free.isEmpty();
  }

  private void release(Slot slot) {
    if (freeValues != null) {
      // Before the slot, so that whoever takes that finds one.
      freeValues.offer(slot.ownValue);
    }
    if (Thread.currentThread() == loadThread) {
      int n = (int) mine.freeHere;
      if (freeHere[n] != slot) {
        // Mostly it is still there, and storing a reference costs more than looking.
        freeHere[n] = slot;
      }
      mine.freeHere = n + 1;
      return;
    }
    free.relaxedOffer(slot);
    Thread waiting = waiter;
    if (waiting != null && free.size() >= wakeAt) {
      waiter = null;
      LockSupport.unpark(waiting);
    }
  }

  /**
   * From now until {@link #stopWaiting} an outcome wakes the thread, once a sixteenth of the
   * messages is free.
   */
  void wake(Thread thread) {
    waiter = thread;
  }

  void stopWaiting() {
    waiter = null;
  }

  /** Writes into a message what it says of itself. */
  void write(byte[] value, long sequence, long intendedNs) {
    if (ShortMessage.isShort(value.length)) {
      ShortMessage.write(value, context.trialId(), index, sequence, intendedNs);
    } else {
      MessageHeader.writeMessage(value, sequence, intendedNs);
    }
  }

  long nextSequence() {
    return mine.sent();
  }

  void sent(long sequence, long nowNs) {
    mine.setSent(sequence + 1);
    if (schedule == null) {
      mine.lastSentNs = nowNs;
    } else {
      schedule.advance();
    }
  }

  boolean isClosedLoop() {
    return schedule == null;
  }

  /** Looks up when the next message is due, for {@link #dueNs}. By the load thread only. */
  void place(RateProfile profile) {
    mine.dueNs =
        schedule == null ? Math.max(mine.lastSentNs, profile.startNs()) : schedule.nextNs(profile);
  }

  /**
   * When the next message is due, as {@link #place} has found. In a closed loop always at once, in
   * turn with the other producers of the thread.
   */
  long dueNs() {
    return mine.dueNs;
  }

  void acked(Slot slot, long nowNs) {
    int bytes = context.pool().isMixed() ? slot.value().length : 0;
    recorder().acked(context.live().window, slot.intendedNs(), slot.sentNs(), nowNs, bytes);
    release(slot);
  }

  void failed(Slot slot, Throwable cause) {
    synchronized (failed) {
      failing.add(slot.sequence());
    }
    recorder().failed(context.live().window, slot.intendedNs());
    context.errors().add("send", cause);
    slot.settle();
    release(slot);
  }

  void reportedTwice() {
    context.errors().add("engine", "the driver reported the outcome of a message twice");
  }

  private AckRecorder recorder() {
    AckRecorder recorder = lastAcker;
    if (recorder == null || recorder.thread != Thread.currentThread()) {
      recorder = context.acks().ofCurrentThread();
      lastAcker = recorder;
    }
    return recorder;
  }

  /**
   * Time for which the thread that reported the last outcome has waited for a CPU; 0 if there is
   * none yet.
   */
  long ackThreadCpuWaitNs() {
    AckRecorder recorder = lastAcker;
    return recorder == null ? 0 : recorder.clock.cpuWaitNs();
  }

  /** Messages sent so far: their sequences are 0 up to this. */
  public long sentCount() {
    return mine.sentAsSeen();
  }

  public int index() {
    return index;
  }

  public MessageProducer client() {
    return client;
  }

  public boolean hasFailed() {
    return !failed.hasNoChunks();
  }

  /** Sequences whose send failed; whether they are stored is unknown. */
  public SequenceSet failed() {
    return failed;
  }

  /** A copy: sequences without a good outcome, failed or in flight. */
  public SequenceSet unknown() {
    SequenceSet unknown = new SequenceSet(false);
    SequenceSet.Cursor cursor = unknown.cursor();
    for (Slot slot : slots) {
      if (slot.isInFlight()) {
        cursor.add(slot.sequence());
      }
    }
    failed.forEach(sentCount(), cursor::add);
    return unknown;
  }
}
