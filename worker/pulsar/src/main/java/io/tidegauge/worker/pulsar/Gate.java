package io.tidegauge.worker.pulsar;

/**
 * Holds a consumer's delivery while it is paused: the client's own pause only stops asking the
 * broker for more, and would still hand over what is on its way.
 */
final class Gate {
  private volatile boolean shut;
  private volatile boolean gone;

  Gate(boolean shut) {
    this.shut = shut;
  }

  /** Returns at once while open; waits while shut. False when there is nothing more to deliver. */
  boolean pass() {
    return !shut && !gone || waitUntilOpen();
  }

  private synchronized boolean waitUntilOpen() {
    while (shut && !gone) {
      try {
        wait();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return false;
      }
    }
    return !gone;
  }

  synchronized void shut() {
    shut = true;
  }

  synchronized void open() {
    shut = false;
    notifyAll();
  }

  synchronized void end() {
    gone = true;
    notifyAll();
  }
}
