package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.SettingsException;
import io.tidegauge.worker.api.SettingsException.Role;
import io.tidegauge.worker.drivers.ClientFailures;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;
import org.apache.pulsar.client.api.PulsarClientException;

/** Turns what the client throws into one line for the user. */
final class Failures extends ClientFailures {
  static final String NO_RIGHT = "the user has no right to do that: ";
  static final String NO_CREDENTIALS = "the credentials are missing, wrong or expired: ";

  /** The client does not say which of the two it was. */
  private static final String NO_ISSUER =
      "the issuer did not answer, or its certificate is not trusted: ";

  private static final String NO_METADATA = "Unable to retrieve OAuth 2.0 server metadata";
  private static final Failures PULSAR = new Failures();

  private Failures() {
    super(Connection.SYSTEM);
  }

  /**
   * Waits for an answer, at most for {@code timeoutMs}. {@code what} completes "Pulsar could not
   * ...".
   */
  static <T> T await(CompletableFuture<T> answer, String what, long timeoutMs)
      throws DriverException {
    return PULSAR.awaited(answer, what, timeoutMs);
  }

  static DriverException describe(String what, Throwable failure) {
    return PULSAR.explain(what, failure);
  }

  /** Of a client that refuses its settings. */
  static SettingsException refusedSettings(Role role, String what, Throwable failure) {
    return PULSAR.settings(role, what, failure);
  }

  /** Waits for a new client, which may be refusing its settings: at once, or as it is made. */
  static <T> T awaitNew(
      Role role, Supplier<CompletableFuture<T>> making, String what, long timeoutMs)
      throws DriverException {
    try {
      return await(making.get(), what, timeoutMs);
    } catch (IllegalArgumentException e) {
      throw refusedSettings(role, what, e);
    } catch (DriverException e) {
      Throwable cause = e.getCause() == null ? e : root(e.getCause());
      if (cause instanceof IllegalArgumentException
          || cause instanceof PulsarClientException.InvalidConfigurationException) {
        throw refusedSettings(role, what, cause);
      }
      throw e;
    }
  }

  @Override
  protected Refusal refusal(Throwable failure) {
    Throwable cause = root(failure);
    if (cause instanceof PulsarClientException.AuthenticationException) {
      String reason = reason(cause);
      return new Refusal(
          (reason.contains(NO_METADATA) ? NO_ISSUER : NO_CREDENTIALS) + reason, false);
    }
    return cause instanceof PulsarClientException.AuthorizationException
        ? new Refusal(NO_RIGHT + reason(cause), true)
        : null;
  }

  @Override
  protected boolean isAnswer(Throwable failure) {
    Throwable cause = root(failure);
    return cause instanceof PulsarClientException.NotAllowedException
        || cause instanceof PulsarClientException.InvalidTopicNameException
        || cause instanceof PulsarClientException.TopicDoesNotExistException;
  }

  /** The client's messages carry whole JSON objects and stacks; the first line says what it is. */
  @Override
  protected String reason(Throwable failure) {
    Throwable cause = root(failure);
    String message = cause.getMessage() == null ? "" : cause.getMessage().strip();
    return message.lines().findFirst().orElseGet(() -> message(cause));
  }

  private static Throwable root(Throwable failure) {
    Throwable current = failure;
    while (current.getCause() != null
        && (current instanceof ExecutionException || current instanceof CompletionException)) {
      current = current.getCause();
    }
    return current;
  }
}
