package io.tidegauge.worker.api;

/**
 * A driver could not do what was asked. The message says what and why in one line, for the user.
 */
public class DriverException extends Exception {
  private static final long serialVersionUID = 1L;

  public DriverException(String message, Throwable cause) {
    super(message, cause);
  }

  public DriverException(String message) {
    super(message);
  }
}
