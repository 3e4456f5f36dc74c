package io.tidegauge.worker.api;

/**
 * A message between {@link MessageProducer#send} and its outcome. Objects are reused: the engine
 * keeps as many as messages may be in flight, so that the per-message path allocates nothing of its
 * own.
 */
public abstract class InFlight {
  /**
   * For the driver: a callback made once for this object and reused for every message that passes
   * through it.
   */
  public Object driverState;

  /**
   * The whole message value, header and body. Not to be changed; valid until the outcome is
   * reported.
   */
  public abstract byte[] value();

  /** The key, or null. */
  public abstract byte[] key();

  /**
   * The system has acknowledged the message. Reads the clock: call it first thing in the client's
   * callback.
   */
  public abstract void acked();

  /**
   * The same for a client that hands over several acknowledgements at once: the clock is read once
   * for all of them. Unless overridden, the clock is read all the same.
   *
   * @param ackedMonoNs {@link System#nanoTime()} when the client handed them over
   */
  public void acked(long ackedMonoNs) {
    acked();
  }

  /**
   * Where the client says that the message is or goes, given before its outcome. Kept only for a
   * history; does nothing otherwise.
   *
   * @param position in the partition, as the system has it; -1 if it is not given
   */
  public void at(int partition, long position) {
    // Only whoever keeps a history wants to know.
  }

  /**
   * The message was surely not stored: the client never sent it, or the system said so. As {@link
   * #failed} for whoever keeps no history.
   */
  public void refused(Throwable cause) {
    failed(cause);
  }

  /** The system or the client refused or gave up the message; whether it was stored is unknown. */
  public abstract void failed(Throwable cause);
}
