package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AuthenticationFailureException;
import com.rabbitmq.client.PossibleAuthenticationFailureException;
import com.rabbitmq.client.ShutdownSignalException;
import com.rabbitmq.stream.Constants;
import com.rabbitmq.stream.StreamException;
import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.TlsFailure;
import java.io.IOException;
import java.net.UnknownHostException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/** Turns what the clients throw into one line for the user. */
final class Failures {
  private static final String NO_RIGHT = "the user has no right to do that";

  private Failures() {}

  /** {@code what} completes "RabbitMQ could not ...". */
  static DriverException describe(String what, Throwable failure) {
    if (failure instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    String told = "RabbitMQ could not " + what + ": ";
    String access = access(failure);
    return access == null
        ? new DriverException(told + reason(failure), failure)
        : access.startsWith(NO_RIGHT)
            ? AccessException.noRight(told + access, failure)
            : new AccessException(told + access, failure);
  }

  /** What keeps us out, in words; null if it is something else. */
  private static String access(Throwable failure) {
    String tls = TlsFailure.words(failure);
    if (tls != null) {
      return "TLS failed: " + tls;
    }
    for (Throwable one = failure; one != null; one = one.getCause()) {
      if (one instanceof AuthenticationFailureException
          || one instanceof PossibleAuthenticationFailureException
          || one instanceof com.rabbitmq.stream.AuthenticationFailureException) {
        // The server does not say which of the two it was.
        return "wrong password or unknown user (" + oneLine(String.valueOf(one.getMessage())) + ")";
      }
      if (one instanceof StreamException refused
          && refused.getCode() == Constants.RESPONSE_CODE_ACCESS_REFUSED) {
        return NO_RIGHT + " (" + oneLine(String.valueOf(one.getMessage())) + ")";
      }
    }
    ShutdownSignalException shutdown = shutdownOf(failure);
    String said = shutdown == null ? "" : shutdownReason(shutdown);
    return said.startsWith("ACCESS_REFUSED") || said.contains("access to vhost")
        ? NO_RIGHT + " (" + said + ")"
        : null;
  }

  /** What happened, in one line: the server's own words where it gave any. */
  static String reason(Throwable failure) {
    ShutdownSignalException shutdown = shutdownOf(failure);
    if (shutdown != null) {
      return shutdownReason(shutdown);
    }
    Throwable cause = root(failure);
    String message = cause.getMessage() == null ? "" : oneLine(cause.getMessage());
    String kind = cause.getClass().getSimpleName().replaceFirst("Exception$", "");
    if (cause instanceof UnknownHostException) {
      return "unknown host " + message;
    }
    if (cause instanceof TimeoutException && message.isEmpty()) {
      return "no answer in time";
    }
    return message.isEmpty() ? kind : message;
  }

  static String oneLine(String text) {
    return text.strip().replaceAll("\\s*\\R\\s*", " ");
  }

  private static String shutdownReason(ShutdownSignalException shutdown) {
    if (shutdown.getReason() instanceof AMQP.Channel.Close close) {
      return oneLine(close.getReplyText());
    }
    if (shutdown.getReason() instanceof AMQP.Connection.Close close) {
      return oneLine(close.getReplyText());
    }
    Throwable cause = shutdown.getCause();
    return cause == null || cause.getMessage() == null
        ? "the connection was closed"
        : "the connection broke: " + oneLine(cause.getMessage());
  }

  private static ShutdownSignalException shutdownOf(Throwable failure) {
    for (Throwable one = failure; one != null; one = one.getCause()) {
      if (one instanceof ShutdownSignalException shutdown) {
        return shutdown;
      }
    }
    return null;
  }

  /**
   * The innermost cause that says something: bare I/O exceptions and those of futures only wrap.
   */
  private static Throwable root(Throwable failure) {
    Throwable current = failure;
    while (current.getCause() != null
        && (current instanceof ExecutionException
            || current.getMessage() == null
            || current.getClass() == IOException.class)) {
      current = current.getCause();
    }
    return current;
  }
}
