package io.tidegauge.worker.app;

import io.tidegauge.worker.api.DriverException;

/** A system was reached, and refuses a topic that it was asked for. */
final class NoTopicException extends DriverException {
  private static final long serialVersionUID = 1L;

  NoTopicException(DriverException refusal) {
    super(refusal.getMessage(), refusal);
  }

  /** What the driver said. */
  DriverException refusal() {
    return (DriverException) getCause();
  }
}
