package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.api.InFlight;

/** One of the messages that a producer may have in flight. Reused; never allocated while messages flow. */
final class Slot extends InFlight {
  private final Producer owner;

  /** The slot's own array if the client keeps references, else null. */
  final byte[] ownValue;

  private byte[] value;
  private byte[] key;
  private long sequence;
  private long intendedNs;
  private long sentNs;
  private volatile boolean inFlight;

  Slot(Producer owner, byte[] ownValue) {
    this.owner = owner;
    this.ownValue = ownValue;
  }

  void fill(byte[] newValue, byte[] newKey, long newSequence, long intended, long sent) {
    value = newValue;
    key = newKey;
    sequence = newSequence;
    intendedNs = intended;
    sentNs = sent;
    inFlight = true;
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
    long now = System.nanoTime();
    if (!inFlight) {
      owner.toldTwice();
      return;
    }
    inFlight = false;
    owner.acked(this, now);
  }

  @Override
  public void failed(Throwable cause) {
    if (!inFlight) {
      owner.toldTwice();
      return;
    }
    // First known as unknown, then out of flight: an observer never takes it for acknowledged.
    owner.failed(this, cause);
  }

  void settle() {
    inFlight = false;
  }

  boolean isInFlight() {
    return inFlight;
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
