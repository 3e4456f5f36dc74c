package io.tidegauge.worker.drivers;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A server's HTTP API, asked in JSON. */
public final class HttpApi {
  /** An answer with any status. */
  public record Answer(int status, String body) {
    public boolean isGood() {
      return status / 100 == 2;
    }

    /** Whether what was asked is refused, and would be again: not an overload, and no failure. */
    public boolean isRefusal() {
      return status / 100 == 4 && status != TOO_LATE && status != TOO_MANY;
    }

    /** What a JSON object with a field "reason" says there; empty if it is something else. */
    public String reason() {
      try {
        Object reason = Json.readMap(body).get("reason");
        return reason == null ? "" : reason.toString().strip();
      } catch (DriverException e) {
        return "";
      }
    }
  }

  /** Statuses that mean something to every driver. */
  public static final int UNAUTHORISED = 401;

  public static final int FORBIDDEN = 403;
  public static final int NOT_FOUND = 404;
  private static final int TOO_LATE = 408;
  private static final int TOO_MANY = 429;

  private static final int PORT_DEFAULT = 80;

  private final String name;
  private final String key;
  private final HttpClient http;

  /** Servers that have answered, or that were asked for TLS and did not speak it. */
  private final Set<String> withoutTls = ConcurrentHashMap.newKeySet();

  /**
   * @param name for messages: "Pulsar's admin API"
   * @param key the connection setting that has its address
   * @param tls null if no address begins with https
   */
  public HttpApi(String name, String key, TlsContext tls, Duration connectTimeout) {
    this.name = name;
    this.key = key;
    HttpClient.Builder builder =
        HttpClient.newBuilder()
            .connectTimeout(connectTimeout)
            .version(HttpClient.Version.HTTP_1_1)
            // A server that is not responsible sends the request on.
            .followRedirects(HttpClient.Redirect.NORMAL);
    if (tls != null) {
      builder.sslContext(tls.sslContext());
    }
    this.http = builder.build();
  }

  /**
   * Makes a call.
   *
   * @param base the server's address, without a slash at the end; {@code path} begins with one
   * @param body JSON; null for none
   * @param timeout until the answer begins; to its end twice as long
   * @throws AccessException if TLS keeps us out
   * @throws IOException if no answer came; {@link #words} says why
   */
  public Answer call(
      String method,
      String base,
      String path,
      Map<String, String> headers,
      String body,
      Duration timeout)
      throws IOException, DriverException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(base + path))
            .timeout(timeout)
            .header("Content-Type", "application/json")
            .method(
                method,
                body == null
                    ? HttpRequest.BodyPublishers.noBody()
                    : HttpRequest.BodyPublishers.ofString(body));
    headers.forEach(request::header);
    CompletableFuture<HttpResponse<String>> answer =
        http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString());
    try {
      // The request's own limit ends with the headers of the answer: its body has to come, too.
      HttpResponse<String> response = answer.get(2 * timeout.toMillis(), TimeUnit.MILLISECONDS);
      withoutTls.add(base);
      return new Answer(response.statusCode(), response.body());
    } catch (TimeoutException e) {
      answer.cancel(true);
      throw new HttpTimeoutException("its answer was not complete in time");
    } catch (ExecutionException e) {
      IOException failure =
          e.getCause() instanceof IOException known ? known : new IOException(e.getCause());
      throwIfTls(base, failure);
      throw failure;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new DriverException("interrupted while calling " + name + " at " + base, e);
    }
  }

  private void throwIfTls(String base, IOException failure) throws AccessException {
    String tls = TlsFailure.words(failure);
    if (tls != null) {
      throw new AccessException("TLS with " + name + " at " + base + " failed: " + tls, failure);
    }
    URI uri = URI.create(base);
    int port = uri.getPort() < 0 ? PORT_DEFAULT : uri.getPort();
    // Asked once: a server that hangs would take seconds each time.
    boolean isAsked = uri.getScheme().equals("http") && withoutTls.add(base);
    if (isAsked && Reach.speaksTls(new Reach.Address(uri.getHost(), port))) {
      withoutTls.remove(base);
      throw new AccessException(
          name + " at " + base + " wants TLS: " + key + " must begin with https://", failure);
    }
  }

  /** A network failure in words: "connection refused". */
  public static String words(Throwable failure) {
    String words = null;
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof UnresolvedAddressException) {
        return "unknown host";
      }
      if (words == null && cause.getMessage() != null) {
        words = cause.getMessage().toLowerCase(Locale.ROOT);
      } else if (words == null && cause instanceof ConnectException) {
        // Java's client leaves out why; a timeout has a type of its own.
        words = "connection refused";
      }
    }
    return words == null ? ClientFailures.kind(failure) : words;
  }
}
