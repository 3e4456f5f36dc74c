package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.TlsFailure;
import java.net.ConnectException;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.pulsar.client.api.PulsarClientException;

/** Turns what the client throws into one line for the user. */
final class Failures {
  private Failures() {}

  /**
   * Waits for an answer, at most for {@code timeoutMs}. {@code what} completes "Pulsar could not
   * ...".
   */
  static <T> T await(CompletableFuture<T> answer, String what, long timeoutMs)
      throws DriverException {
    try {
      return answer.get(timeoutMs, TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      throw describe(what, e);
    } catch (TimeoutException e) {
      throw new DriverException(
          "Pulsar could not " + what + ": no answer within " + timeoutMs + " ms", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new DriverException("Pulsar could not " + what + ": interrupted", e);
    }
  }

  static DriverException describe(String what, Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null
        && (cause instanceof ExecutionException || cause instanceof CompletionException)) {
      cause = cause.getCause();
    }
    String told = "Pulsar could not " + what + ": ";
    String tls = TlsFailure.words(cause);
    if (tls != null) {
      return new AccessException(told + "TLS failed: " + tls, failure);
    }
    if (cause instanceof PulsarClientException.AuthenticationException) {
      return new AccessException(
          told + "the credentials are missing, wrong or expired: " + firstLine(cause), failure);
    }
    if (cause instanceof PulsarClientException.AuthorizationException) {
      return AccessException.noRight(
          told + "the user has no right to do that: " + firstLine(cause), failure);
    }
    return new DriverException(told + firstLine(cause), failure);
  }

  /** The client's messages carry whole JSON objects and stacks; the first line says what it is. */
  private static String firstLine(Throwable cause) {
    String message = cause.getMessage() == null ? "" : cause.getMessage().strip();
    String line = message.lines().findFirst().orElse("");
    return line.isEmpty() ? cause.getClass().getSimpleName().replaceFirst("Exception$", "") : line;
  }

  /** A network failure in words: "connection refused". */
  static String words(Throwable failure) {
    Throwable cause = failure;
    while (cause.getMessage() == null && cause.getCause() != null) {
      if (cause instanceof ConnectException) {
        // The JDK's HTTP client leaves out why; a time out it tells by another type.
        return "connection refused";
      }
      cause = cause.getCause();
    }
    return cause.getMessage() == null
        ? cause.getClass().getSimpleName().replaceFirst("Exception$", "")
        : cause.getMessage().toLowerCase(Locale.ROOT);
  }
}
