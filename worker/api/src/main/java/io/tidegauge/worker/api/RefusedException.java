package io.tidegauge.worker.api;

/**
 * The system was reached and answered that it won't do what was asked: its settings, its limits or
 * what is there already stand against it.
 */
public final class RefusedException extends DriverException {
  private static final long serialVersionUID = 1L;

  public RefusedException(String message, Throwable cause) {
    super(message, cause);
  }
}
