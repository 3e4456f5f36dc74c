package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.api.InFlight;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * One of the messages that a producer may have in flight. Reused; never allocated while messages
 * flow.
 */
class Slot extends InFlight {
  private static final VarHandle IN_FLIGHT;

  static {
    try {
      IN_FLIGHT = MethodHandles.lookup().findVarHandle(Slot.class, "inFlight", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Producer owner;

  /** The message's own array if the client keeps references, else null. */
  byte[] ownValue;

  private byte[] value;
  private byte[] key;
  private long sequence;
  private long intendedNs;
  private long sentNs;

  // Through the handle: a plain volatile write would cost a fence per message.
  @SuppressWarnings("UnusedVariable")
  private boolean inFlight;

  Slot(Producer owner, byte[] ownValue) {
    this.owner = owner;
    this.ownValue = ownValue;
  }

  void fill(byte[] newValue, byte[] newKey, long newSequence, long intended, long sent) {
    if (value != newValue) {
      value = newValue;
    }
    if (key != newKey) {
      key = newKey;
    }
    sequence = newSequence;
    intendedNs = intended;
    sentNs = sent;
    IN_FLIGHT.setRelease(this, true);
  }

  @Override
  public byte[] value() {
    return value;
  }

  @Override
  public byte[] key() {
    return key;
  }

  @Override
  public void acked() {
    acked(System.nanoTime());
  }

  @Override
  public void acked(long now) {
    if (!isInFlight()) {
      owner.reportedTwice();
      return;
    }
    IN_FLIGHT.setRelease(this, false);
    owner.acked(this, now);
  }

  @Override
  public void failed(Throwable cause) {
    if (!isInFlight()) {
      owner.reportedTwice();
      return;
    }
    // First known as unknown, then out of flight: an observer never takes it for acknowledged.
    owner.failed(this, cause);
  }

  void settle() {
    IN_FLIGHT.setRelease(this, false);
  }

  boolean isInFlight() {
    return (boolean) IN_FLIGHT.getAcquire(this);
  }

  long sequence() {
    return sequence;
  }

  long intendedNs() {
    return intendedNs;
  }

  long sentNs() {
    return sentNs;
  }
}
