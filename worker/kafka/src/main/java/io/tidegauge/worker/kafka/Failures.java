package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.SettingsException.Role;
import io.tidegauge.worker.drivers.ClientFailures;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import javax.security.auth.login.LoginException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.IllegalSaslStateException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.UnsupportedSaslMechanismException;

/** Turns what the client throws into one line for the user. */
final class Failures extends ClientFailures {
  private static final Failures KAFKA = new Failures();

  private Failures() {
    super(Connection.SYSTEM);
  }

  /**
   * Waits for an answer, at most for {@code timeoutMs}. {@code what} completes "Kafka could not
   * ...".
   */
  static <T> T await(Future<T> answer, String what, long timeoutMs) throws DriverException {
    return KAFKA.awaited(answer, what, timeoutMs);
  }

  /** The same; null where it fails with an error of that kind. */
  static <T> T awaitUnless(
      Class<? extends ApiException> kind, Future<T> answer, String what, long timeoutMs)
      throws DriverException {
    try {
      return await(answer, what, timeoutMs);
    } catch (DriverException e) {
      if (kind.isInstance(root(e.getCause()))) {
        return null;
      }
      throw e;
    }
  }

  static DriverException describe(String what, Throwable failure) {
    return KAFKA.explain(what, failure);
  }

  /** The same of a new client, which may be refusing its settings. */
  static DriverException describeNew(Role role, String what, KafkaException failure) {
    return root(failure) instanceof ConfigException
        ? KAFKA.settings(role, what, failure)
        : describe(what, failure);
  }

  /** Whether trying again can't help, until somebody changes a right or a password. */
  static boolean isAccess(Throwable failure) {
    return KAFKA.keepsOut(failure);
  }

  /** Waits a little for {@code what} to become possible. */
  static void pause(long ms, String what) throws DriverException {
    KAFKA.sleep(ms, what);
  }

  @Override
  protected Refusal refusal(Throwable failure) {
    Throwable cause = root(failure);
    String said = cause.getMessage() == null ? "" : " (" + cause.getMessage().strip() + ")";
    if (cause instanceof AuthorizationException) {
      return new Refusal("the user has no right to do that" + said, true);
    }
    if (cause instanceof UnsupportedSaslMechanismException
        || cause instanceof IllegalSaslStateException) {
      return new Refusal("the broker does not take this SASL mechanism" + said, false);
    }
    if (cause instanceof LoginException) {
      return new Refusal("no login: " + innermost(cause), false);
    }
    if (cause instanceof AuthenticationException && said.contains("invalid_token")) {
      return new Refusal("the broker does not accept the token" + said, false);
    }
    // The broker does not say which of the two it was.
    return cause instanceof AuthenticationException
        ? new Refusal("wrong password or unknown user" + said, false)
        : null;
  }

  /** What the cause of all says: who asks for a token wraps it again and again. */
  private static String innermost(Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return message(cause);
  }

  @Override
  protected boolean isAnswer(Throwable failure) {
    Throwable cause = root(failure);
    return cause instanceof ApiException && !(cause instanceof RetriableException);
  }

  @Override
  protected String reason(Throwable failure) {
    return message(root(failure));
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
