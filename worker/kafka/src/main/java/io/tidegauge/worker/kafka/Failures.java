package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.TlsFailure;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.IllegalSaslStateException;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.UnsupportedSaslMechanismException;

/** Turns what the client throws into one line for the user. */
final class Failures {
  private Failures() {}

  /**
   * Waits for an answer, at most for {@code timeoutMs}. {@code what} completes "Kafka could not
   * ...".
   */
  static <T> T await(Future<T> answer, String what, long timeoutMs) throws DriverException {
    try {
      return answer.get(timeoutMs, TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      throw describe(what, e);
    } catch (TimeoutException e) {
      throw new DriverException(
          "Kafka could not " + what + ": no answer within " + timeoutMs + " ms", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new DriverException("Kafka could not " + what + ": interrupted", e);
    }
  }

  static DriverException describe(String what, Throwable failure) {
    if (failure instanceof InterruptException) {
      Thread.currentThread().interrupt();
    }
    Throwable cause = root(failure);
    String access = access(cause);
    if (access != null) {
      String told = "Kafka could not " + what + ": " + access;
      return cause instanceof AuthorizationException
          ? AccessException.noRight(told, failure)
          : new AccessException(told, failure);
    }
    String message =
        cause.getMessage() == null ? "" : cause.getMessage().strip().replaceAll("\\s*\\R\\s*", " ");
    String kind = cause.getClass().getSimpleName().replaceFirst("Exception$", "");
    return new DriverException(
        "Kafka could not " + what + ": " + (message.isEmpty() ? kind : message), failure);
  }

  /** What keeps us out, in words; null if it is something else. */
  private static String access(Throwable cause) {
    String said = cause.getMessage() == null ? "" : " (" + cause.getMessage().strip() + ")";
    if (cause instanceof AuthorizationException) {
      return "the user has no right to do that" + said;
    }
    String tls = TlsFailure.words(cause);
    if (tls != null) {
      return "TLS failed: " + tls;
    }
    if (cause instanceof UnsupportedSaslMechanismException
        || cause instanceof IllegalSaslStateException) {
      return "the broker does not take this auth.method" + said;
    }
    // The broker does not say which of the two it was.
    return cause instanceof AuthenticationException
        ? "wrong password or unknown user" + said
        : null;
  }

  /** Whether trying again can't help, until somebody changes a right or a password. */
  static boolean isAccess(Throwable failure) {
    return access(root(failure)) != null;
  }

  /**
   * The innermost cause that says something: wrappers of futures and "failed to construct" say
   * nothing.
   */
  static Throwable root(Throwable failure) {
    Throwable current = failure;
    while (current.getCause() != null
        && (current instanceof ExecutionException
            || current instanceof CompletionException
            || current.getClass() == KafkaException.class)) {
      current = current.getCause();
    }
    return current;
  }
}
