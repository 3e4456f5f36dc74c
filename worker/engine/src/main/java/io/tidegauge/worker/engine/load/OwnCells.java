package io.tidegauge.worker.engine.load;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * What one load thread writes with every message, of a producer or of itself, apart from all that
 * other threads read: the fields of a superclass lie before those of its subclass, so that there is
 * room on both sides. All are as wide as that room's, for a narrower one could be put in front of
 * it.
 */
final class OwnCells extends OwnCellsWritten {
  @SuppressWarnings("UnusedVariable")
  private long r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, ra, rb, rc, rd, re, rf;
}

class OwnCellsWritten extends OwnCellsRoom {
  private static final VarHandle SENT;

  static {
    try {
      SENT = MethodHandles.lookup().findVarHandle(OwnCellsWritten.class, "sent", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private long sent;

  /** When the last send began. */
  long lastSentNs = Long.MIN_VALUE;

  /** Slots that the load thread itself has put back. */
  long freeHere;

  /** Number of the next message's body. */
  long body;

  /** When the producer's next message is due, as its thread has it. */
  long dueNs;

  /** How many messages the producer may still send in the measured window. */
  long windowLeft = Long.MAX_VALUE;

  /** By the owner. */
  long sent() {
    return sent;
  }

  /** By any thread. */
  long sentAsSeen() {
    return (long) SENT.getAcquire(this);
  }

  /** By the owner, for any thread to see. */
  void setSent(long messages) {
    SENT.setRelease(this, messages);
  }
}

class OwnCellsRoom {
  @SuppressWarnings("UnusedVariable")
  private long r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, ra, rb, rc, rd, re, rf;
}
