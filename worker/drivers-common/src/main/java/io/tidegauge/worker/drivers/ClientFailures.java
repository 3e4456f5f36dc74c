package io.tidegauge.worker.drivers;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.RefusedException;
import io.tidegauge.worker.api.SettingsException;
import io.tidegauge.worker.api.SettingsException.Role;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Turns what a system's client throws into one line for the user. */
public abstract class ClientFailures {
  /**
   * What keeps us out.
   *
   * @param missingRight whether we were let in, but may not do this one thing
   */
  public record Refusal(String words, boolean missingRight) {}

  private final String system;

  /**
   * @param system begins every message: "Kafka"
   */
  protected ClientFailures(String system) {
    this.system = system;
  }

  /** What keeps us out, TLS aside; null if it is something else. */
  protected abstract Refusal refusal(Throwable failure);

  /**
   * Whether the system answered that it won't do what was asked, and was not merely out of reach.
   */
  protected abstract boolean isAnswer(Throwable failure);

  /** What happened, in one line, where nothing keeps us out. */
  protected abstract String reason(Throwable failure);

  /** {@code what} completes "Kafka could not ...". */
  public final DriverException explain(String what, Throwable failure) {
    String begin = system + " could not " + what + ": ";
    if (failure instanceof InterruptedException) {
      Thread.currentThread().interrupt();
      return new DriverException(begin + "interrupted", failure);
    }
    String tls = TlsFailure.words(failure);
    if (tls != null) {
      return new AccessException(begin + "TLS failed: " + tls, failure);
    }
    Refusal refusal = refusal(failure);
    if (refusal == null) {
      return isAnswer(failure)
          ? new RefusedException(begin + reason(failure), failure)
          : new DriverException(begin + reason(failure), failure);
    }
    return refusal.missingRight()
        ? AccessException.noRight(begin + refusal.words(), failure)
        : new AccessException(begin + refusal.words(), failure);
  }

  /** The same of a client that refuses its settings. */
  public final SettingsException settings(Role role, String what, Throwable failure) {
    return new SettingsException(
        role, system + " could not " + what + ": " + reason(failure), failure);
  }

  /** Whether trying again can't help, until somebody changes a right or a password. */
  public final boolean keepsOut(Throwable failure) {
    return TlsFailure.words(failure) != null || refusal(failure) != null;
  }

  /** Waits for an answer, at most for {@code timeoutMs}. */
  public final <T> T awaited(Future<T> answer, String what, long timeoutMs) throws DriverException {
    try {
      return answer.get(timeoutMs, TimeUnit.MILLISECONDS);
    } catch (ExecutionException | InterruptedException e) {
      throw explain(what, e);
    } catch (TimeoutException e) {
      throw new DriverException(
          system + " could not " + what + ": no answer within " + timeoutMs + " ms", e);
    }
  }

  /** Waits a little for {@code what} to become possible. */
  public final void sleep(long ms, String what) throws DriverException {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      throw explain(what, e);
    }
  }

  /** The message in one line; what kind of failure it is where there is none. */
  public static String message(Throwable failure) {
    String message = failure.getMessage() == null ? "" : oneLine(failure.getMessage());
    return message.isEmpty() ? kind(failure) : message;
  }

  public static String oneLine(String text) {
    return text.strip().replaceAll("\\s*\\R\\s*", " ");
  }

  static String kind(Throwable failure) {
    return failure.getClass().getSimpleName().replaceFirst("Exception$", "");
  }
}
