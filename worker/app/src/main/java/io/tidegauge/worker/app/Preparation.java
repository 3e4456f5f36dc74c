package io.tidegauge.worker.app;

import io.tidegauge.worker.api.Progress;

/** How far the preparation of a trial has come, for whoever asks meanwhile. */
final class Preparation implements Progress {
  /** So many of a kind are ready; an empty kind means that nothing is being prepared. */
  record State(String what, long done, long total) {}

  private static final State IDLE = new State("", 0, 0);

  private volatile State state = IDLE;

  @Override
  public void at(String what, long done, long total) {
    state = new State(what, done, total);
  }

  void over() {
    state = IDLE;
  }

  State state() {
    return state;
  }
}
