package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Reach;
import io.tidegauge.worker.api.TlsFailure;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.pulsar.client.api.Authentication;
import org.apache.pulsar.client.api.AuthenticationDataProvider;
import org.apache.pulsar.client.api.AuthenticationFactory;

/** Pulsar's admin REST API. The official admin client would add 90 jars for these few calls. */
final class AdminRest {
  /** An answer with any status. */
  record Answer(int status, String body) {
    boolean good() {
      return status / 100 == 2;
    }

    /**
     * Whether the user is known but may not do this. Pulsar answers that by 401 as well, but then
     * with a reason; who is not known meets a filter before, which gives none.
     */
    boolean refusesRight() {
      return status == FORBIDDEN || status == UNAUTHORISED && !said().isEmpty();
    }

    /** Why the server refused, in its own words. */
    String reason() {
      return said().isEmpty() ? "HTTP " + status : said() + " (HTTP " + status + ")";
    }

    private String said() {
      try {
        Object reason = Json.parseObject(body).get("reason");
        return reason == null ? "" : reason.toString().strip();
      } catch (DriverException e) {
        return "";
      }
    }
  }

  private static final int UNAUTHORISED = 401;
  private static final int FORBIDDEN = 403;
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);

  /** Creating or deleting a topic of thousands of partitions is one request. */
  private static final Duration REQUEST_TIMEOUT = Duration.ofMinutes(2);

  static final int NOT_FOUND = 404;

  private final Connection connection;
  private final HttpClient http;
  private boolean isAlone;

  AdminRest(Connection connection) {
    this.connection = connection;
    HttpClient.Builder builder =
        HttpClient.newBuilder()
            .connectTimeout(CONNECT_TIMEOUT)
            .version(HttpClient.Version.HTTP_1_1)
            // A broker that does not own the namespace sends the request on.
            .followRedirects(HttpClient.Redirect.ALWAYS);
    if (connection.tls() != null) {
      builder.sslContext(connection.tls().sslContext());
    }
    this.http = builder.build();
  }

  /**
   * A call below {@code /admin/v2} that must succeed; {@code what} completes "Pulsar could not
   * ...".
   */
  String require(String what, String method, String path, String body) throws DriverException {
    return accepted(what, call(method, path, body));
  }

  private static String accepted(String what, Answer answer) throws DriverException {
    if (!answer.good()) {
      throw refusal(what, answer);
    }
    return answer.body();
  }

  /** Web addresses, host:port, of the active brokers. */
  List<String> brokers() throws DriverException {
    List<String> brokers = new ArrayList<>();
    String what = "list its brokers";
    Answer answer = call("GET", "brokers", null);
    // Before 2.11, brokers are listed by cluster only.
    String listed =
        answer.status() == NOT_FOUND
            ? require(what, "GET", "brokers/" + cluster(), null)
            : accepted(what, answer);
    if (Json.parse(listed) instanceof List<?> names) {
      names.forEach(broker -> brokers.add(String.valueOf(broker)));
    }
    isAlone = brokers.size() == 1;
    return brokers;
  }

  private String cluster() throws DriverException {
    String what = "list its clusters";
    if (Json.parse(require(what, "GET", "clusters", null)) instanceof List<?> names
        && !names.isEmpty()) {
      return String.valueOf(names.get(0));
    }
    throw new DriverException("Pulsar could not " + what + ": there is none");
  }

  /** A call to one of the active brokers. */
  Answer callBroker(String broker, String method, String path) throws DriverException {
    String url = connection.adminUrl();
    // A broker lists one of its ports, which need not be the one with TLS.
    String base = isAlone ? url : url.substring(0, url.indexOf("://") + 3) + broker;
    return callAt(base, method, path, null);
  }

  /** The error for an answer that is not good. */
  static DriverException refusal(String what, Answer answer) {
    String told = "Pulsar could not " + what + ": ";
    if (answer.refusesRight()) {
      return AccessException.noRight(
          told + "the user has no right to do that: " + answer.reason(), null);
    }
    if (answer.status() == UNAUTHORISED) {
      return new AccessException(
          told + "the credentials are missing, wrong or expired: " + answer.reason(), null);
    }
    return new DriverException(told + answer.reason());
  }

  Answer call(String method, String path, String body) throws DriverException {
    return callAt(connection.adminUrl(), method, path, body);
  }

  /** The same at another broker. */
  Answer callAt(String baseUrl, String method, String path, String body) throws DriverException {
    try {
      HttpRequest.Builder request =
          HttpRequest.newBuilder(URI.create(baseUrl + "/admin/v2/" + path))
              .timeout(REQUEST_TIMEOUT)
              .header("Content-Type", "application/json")
              .method(
                  method,
                  body == null
                      ? HttpRequest.BodyPublishers.noBody()
                      : HttpRequest.BodyPublishers.ofString(body, StandardCharsets.UTF_8));
      authenticate(request);
      HttpResponse<String> response =
          http.send(request.build(), HttpResponse.BodyHandlers.ofString());
      return new Answer(response.statusCode(), response.body());
    } catch (IOException | IllegalArgumentException e) {
      throw unanswered(baseUrl, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new DriverException("interrupted while calling Pulsar's admin API at " + baseUrl, e);
    }
  }

  private static DriverException unanswered(String baseUrl, Exception failure) {
    String tls = TlsFailure.words(failure);
    if (tls != null) {
      return new AccessException(
          "TLS with Pulsar's admin API at " + baseUrl + " failed: " + tls, failure);
    }
    if (baseUrl.startsWith("http://") && failure instanceof IOException) {
      URI address = URI.create(baseUrl);
      if (Reach.speaksTls(new Reach.Address(address.getHost(), address.getPort()))) {
        return new AccessException(
            "Pulsar's admin API at " + baseUrl + " wants TLS: adminUrl must begin with https://",
            failure);
      }
    }
    return new DriverException(
        "Pulsar's admin API at " + baseUrl + " does not answer: " + Failures.words(failure),
        failure);
  }

  private void authenticate(HttpRequest.Builder request) throws DriverException {
    Map<String, String> settings = connection.clientSettings();
    String plugin = settings.getOrDefault("authPluginClassName", "");
    if (plugin.isEmpty()) {
      return;
    }
    try (Authentication authentication =
        AuthenticationFactory.create(plugin, settings.getOrDefault("authParams", ""))) {
      authentication.start();
      AuthenticationDataProvider data = authentication.getAuthData();
      if (data.hasDataForHttp() && data.getHttpHeaders() != null) {
        for (Map.Entry<String, String> header : data.getHttpHeaders()) {
          request.header(header.getKey(), header.getValue());
        }
      }
    } catch (Exception e) {
      // The plugin's interface lets it throw anything.
      throw Failures.describe("authenticate with " + plugin, e);
    }
  }
}
