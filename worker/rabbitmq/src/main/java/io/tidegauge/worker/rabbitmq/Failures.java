package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AuthenticationFailureException;
import com.rabbitmq.client.PossibleAuthenticationFailureException;
import com.rabbitmq.client.ShutdownSignalException;
import com.rabbitmq.stream.Constants;
import com.rabbitmq.stream.StreamException;
import com.rabbitmq.stream.oauth2.OAuth2Exception;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.ClientFailures;
import java.io.IOException;
import java.net.UnknownHostException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/** Turns what the clients throw into one line for the user. */
final class Failures extends ClientFailures {
  private static final Failures RABBITMQ = new Failures();

  private Failures() {
    super(Connection.SYSTEM);
  }

  /** {@code what} completes "RabbitMQ could not ...". */
  static DriverException describe(String what, Throwable failure) {
    return RABBITMQ.explain(what, failure);
  }

  /** What happened, in one line: the server's own words where it gave any. */
  static String words(Throwable failure) {
    return RABBITMQ.reason(failure);
  }

  /** Waits a little for {@code what} to become possible. */
  static void pause(long ms, String what) throws DriverException {
    RABBITMQ.sleep(ms, what);
  }

  @Override
  protected Refusal refusal(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof AuthenticationFailureException
          || cause instanceof PossibleAuthenticationFailureException
          || cause instanceof com.rabbitmq.stream.AuthenticationFailureException) {
        // The server does not say which of the two it was.
        return new Refusal("wrong password or unknown user (" + said(cause) + ")", false);
      }
      if (cause instanceof OAuth2Exception) {
        return new Refusal("no token: " + said(cause), false);
      }
      if (cause instanceof StreamException refused
          && refused.getCode() == Constants.RESPONSE_CODE_ACCESS_REFUSED) {
        return noRight(said(cause));
      }
    }
    ShutdownSignalException shutdown = shutdownOf(failure);
    String said = shutdown == null ? "" : shutdownReason(shutdown);
    return said.startsWith("ACCESS_REFUSED") || said.contains("access to vhost")
        ? noRight(said)
        : null;
  }

  @Override
  protected boolean isAnswer(Throwable failure) {
    ShutdownSignalException shutdown = shutdownOf(failure);
    return shutdown != null && shutdown.getReason() instanceof AMQP.Channel.Close;
  }

  private static Refusal noRight(String said) {
    return new Refusal("the user has no right to do that (" + said + ")", true);
  }

  private static String said(Throwable cause) {
    return oneLine(String.valueOf(cause.getMessage()));
  }

  @Override
  protected String reason(Throwable failure) {
    ShutdownSignalException shutdown = shutdownOf(failure);
    if (shutdown != null) {
      return shutdownReason(shutdown);
    }
    Throwable cause = root(failure);
    if (cause instanceof UnknownHostException) {
      return "unknown host " + (cause.getMessage() == null ? "" : said(cause));
    }
    return cause instanceof TimeoutException && cause.getMessage() == null
        ? "no answer in time"
        : message(cause);
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
