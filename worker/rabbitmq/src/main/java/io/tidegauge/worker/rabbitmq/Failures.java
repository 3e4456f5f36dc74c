package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.ShutdownSignalException;
import io.tidegauge.worker.api.DriverException;
import java.io.IOException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/** Turns what the clients throw into one line for the user. */
final class Failures {
  private Failures() {}

  /** {@code what} completes "RabbitMQ could not ...". */
  static DriverException describe(String what, Throwable failure) {
    if (failure instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    return new DriverException("RabbitMQ could not " + what + ": " + reason(failure), failure);
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
