package io.tidegauge.worker.api;

/** A system was reached, and refuses a topic that it was asked for. */
public final class NoTopicException extends DriverException {
  private static final long serialVersionUID = 1L;

  private NoTopicException(DriverException refusal) {
    super(refusal.getMessage(), refusal);
  }

  /** Makes topics. */
  public interface Making {
    void run() throws DriverException;
  }

  /** Makes topics, and tells their refusal from whatever else fails. */
  public static void tellRefusal(Making making) throws DriverException {
    try {
      making.run();
    } catch (RefusedException | AccessException e) {
      throw new NoTopicException(e);
    }
  }

  /** What the driver said. */
  public DriverException refusal() {
    return (DriverException) getCause();
  }
}
