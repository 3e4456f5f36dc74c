package io.tidegauge.worker.api;

/**
 * The system's client does not take the settings that it was given. Trying again does not help:
 * they have to be changed.
 */
public final class SettingsException extends DriverException {
  /** Whose settings they are. */
  public enum Role {
    PRODUCER,
    CONSUMER
  }

  private static final long serialVersionUID = 1L;

  private final Role role;

  public SettingsException(Role role, String message, Throwable cause) {
    super(message, cause);
    this.role = role;
  }

  /** Of which clients. */
  public Role role() {
    return role;
  }
}
