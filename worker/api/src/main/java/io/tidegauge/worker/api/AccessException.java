package io.tidegauge.worker.api;

/**
 * The system is there but does not let us do what was asked: TLS, credentials or rights. Trying
 * again does not help; the message says all there is to say, its cause is for the log.
 */
public final class AccessException extends DriverException {
  private static final long serialVersionUID = 1L;

  public AccessException(String message, Throwable cause) {
    super(message, cause);
  }
}
