package io.tidegauge.worker.nats;

import io.nats.client.AuthenticationException;
import io.nats.client.JetStreamApiException;
import io.nats.client.JetStreamStatusException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.ClientFailures;
import java.io.IOException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/** Turns what the client throws into one line for the user. */
final class Failures extends ClientFailures {
  private static final Failures NATS = new Failures();

  /** Of JetStream's API: there is no stream, no consumer, or no message, of that name. */
  static final int NO_STREAM = 10059;

  static final int NO_CONSUMER = 10014;
  static final int NO_MESSAGE = 10037;

  /**
   * What the server answers while nobody leads, or while nodes are missing, is not its last word.
   */
  private static final int UNAVAILABLE = 503;

  private static final int NO_PEERS = 10005;
  private static final String NO_RESPONDERS = "No Responders";

  private Failures() {
    super(Connection.SYSTEM);
  }

  /** {@code what} completes "NATS could not ...". */
  static DriverException describe(String what, Throwable failure) {
    return NATS.explain(what, failure);
  }

  /** Waits a little for {@code what} to become possible. */
  static void pause(long ms, String what) throws DriverException {
    NATS.sleep(ms, what);
  }

  /** Whether a call failed since there is no such thing. */
  static boolean isAbsent(Exception failure) {
    return failure instanceof JetStreamApiException api
        && (api.getApiErrorCode() == NO_STREAM || api.getApiErrorCode() == NO_CONSUMER);
  }

  /** Whether a call may succeed a little later: a cluster that has just begun has no leader yet. */
  static boolean isPassing(Exception failure) {
    if (failure instanceof JetStreamApiException api) {
      return api.getErrorCode() == UNAVAILABLE || api.getApiErrorCode() == NO_PEERS;
    }
    return failure instanceof IOException || isUnanswered(failure);
  }

  /** Whether no server took a message: nobody leads the stream, or there is none. */
  static boolean isUnanswered(Throwable failure) {
    Throwable cause = root(failure);
    return cause instanceof JetStreamStatusException status
        && status.getStatus().getCode() == UNAVAILABLE;
  }

  @Override
  protected Refusal refusal(Throwable failure) {
    Throwable cause = root(failure);
    String said = cause.getMessage() == null ? "" : " (" + oneLine(cause.getMessage()) + ")";
    if (cause instanceof AuthenticationException || said.contains("Authorization Violation")) {
      // The server does not say which of the two it was.
      return new Refusal("wrong password or unknown user" + said, false);
    }
    return said.contains("Permissions Violation")
        ? new Refusal("the user has no right to do that" + said, true)
        : null;
  }

  @Override
  protected boolean isAnswer(Throwable failure) {
    return root(failure) instanceof JetStreamApiException api && !isPassing(api);
  }

  @Override
  protected String reason(Throwable failure) {
    Throwable cause = root(failure);
    if (cause instanceof JetStreamApiException api) {
      return oneLine(api.getErrorDescription()) + " (" + api.getApiErrorCode() + ")";
    }
    if (isUnanswered(failure) || message(cause).contains(NO_RESPONDERS)) {
      return "no server answers for it: JetStream is not enabled, or nobody leads the stream";
    }
    return cause instanceof TimeoutException && cause.getMessage() == null
        ? "no answer in time"
        : message(cause);
  }

  /** The innermost cause that says something: those of futures only wrap. */
  private static Throwable root(Throwable failure) {
    Throwable current = failure;
    while (current.getCause() != null
        && (current instanceof ExecutionException || current instanceof CompletionException)) {
      current = current.getCause();
    }
    return current;
  }
}
