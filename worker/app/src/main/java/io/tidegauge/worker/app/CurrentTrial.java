package io.tidegauge.worker.app;

import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.engine.Trial;
import io.tidegauge.worker.engine.TrialPlan;
import io.tidegauge.worker.proto.Connection;
import io.tidegauge.worker.proto.PrepareProgressReply;

/**
 * The one trial that a worker holds at a time. A finished trial's figures stay readable until the
 * next is prepared.
 */
final class CurrentTrial {
  private final Drivers drivers;
  private final Results results;
  private Driver driver;
  private volatile Trial trial;

  /** An empty kind means that nothing is being prepared. */
  private volatile PrepareProgressReply progress = PrepareProgressReply.getDefaultInstance();

  CurrentTrial(Drivers drivers, Results results) {
    this.drivers = drivers;
    this.results = results;
  }

  /** Prepares a trial; the one before must have been finished. */
  synchronized Trial prepare(Connection connection, TrialPlan plan) throws DriverException {
    if (driver != null) {
      throw new IllegalStateException("a trial is prepared already: finish it first");
    }
    trial = null;
    results.begin(null);
    Driver opened = drivers.open(connection);
    try {
      Trial prepared = Trial.prepare(plan, opened, this::at);
      driver = opened;
      trial = prepared;
      results.begin(prepared);
      return prepared;
    } catch (DriverException | RuntimeException e) {
      opened.close();
      throw e;
    } finally {
      progress = PrepareProgressReply.getDefaultInstance();
    }
  }

  /** Creates this worker's topics of a trial that it has yet to prepare. */
  synchronized void createTopics(Connection connection, TrialPlan plan) throws DriverException {
    try (Driver opened = drivers.open(connection)) {
      Trial.createTopics(plan, opened, this::at);
    } finally {
      progress = PrepareProgressReply.getDefaultInstance();
    }
  }

  private void at(String what, long done, long total) {
    progress =
        PrepareProgressReply.newBuilder().setWhat(what).setDone(done).setTotal(total).build();
  }

  /** How far a preparation that goes on has come. */
  PrepareProgressReply progress() {
    return progress;
  }

  /** The trial at hand, running or finished. */
  Trial trial() {
    Trial current = trial;
    if (current == null) {
      throw new IllegalStateException("no trial is prepared");
    }
    return current;
  }

  /** Finishes the trial; without one there is nothing to do. */
  synchronized void finish(boolean deleteTopics) throws DriverException, InterruptedException {
    if (driver == null) {
      return;
    }
    try {
      // Before anything is closed, which may take as long as a system takes to answer.
      results.finish();
      trial.finish(deleteTopics);
    } finally {
      driver.close();
      driver = null;
    }
  }
}
