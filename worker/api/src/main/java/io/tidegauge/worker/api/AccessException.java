package io.tidegauge.worker.api;

/**
 * The system is there but does not let us do what was asked: TLS, credentials or rights. Trying
 * again does not help; the message says all there is to say, its cause is for the log.
 */
public final class AccessException extends DriverException {
  private static final long serialVersionUID = 1L;

  private final boolean missingRight;

  public AccessException(String message, Throwable cause) {
    this(message, cause, false);
  }

  private AccessException(String message, Throwable cause, boolean missingRight) {
    super(message, cause);
    this.missingRight = missingRight;
  }

  /** We were let in, but have no right to do this one thing. */
  public static AccessException noRight(String message, Throwable cause) {
    return new AccessException(message, cause, true);
  }

  /** Whether only the right to do this one thing is missing, so that others may well succeed. */
  public boolean isMissingRight() {
    return missingRight;
  }
}
