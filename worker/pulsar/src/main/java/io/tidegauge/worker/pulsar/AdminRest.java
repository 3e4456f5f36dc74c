package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.RefusedException;
import io.tidegauge.worker.drivers.HttpApi;
import io.tidegauge.worker.drivers.Json;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.pulsar.client.api.Authentication;
import org.apache.pulsar.client.api.AuthenticationDataProvider;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.client.api.PulsarClientException;

/** Pulsar's admin REST API. The official admin client would add 90 jars for these few calls. */
final class AdminRest implements AutoCloseable {
  private static final String NAME = "Pulsar's admin API";
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);

  /** Creating or deleting a topic of thousands of partitions is one request. */
  private static final Duration REQUEST_TIMEOUT = Duration.ofMinutes(2);

  /** Of what a broker answers at once, if it answers. */
  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(10);

  private static final Pattern MESSAGE = Pattern.compile("(?m)^Message: (.+)$");

  private final Connection connection;
  private final HttpApi http;
  private boolean isAlone;
  private Authentication authentication;

  AdminRest(Connection connection) {
    this.connection = connection;
    this.http = new HttpApi(NAME, "adminUrl", connection.tls(), CONNECT_TIMEOUT);
  }

  /**
   * A call below {@code /admin/v2} that must succeed; {@code what} completes "Pulsar could not
   * ...".
   */
  String require(String what, String method, String path, String body) throws DriverException {
    return accepted(what, call(method, path, body));
  }

  private static String accepted(String what, HttpApi.Answer answer) throws DriverException {
    if (!answer.isGood()) {
      throw refusal(what, answer);
    }
    return answer.body();
  }

  /** Web addresses, host:port, of the active brokers. */
  List<String> brokers() throws DriverException {
    String what = "list its brokers";
    HttpApi.Answer answer = callAt(connection.adminUrl(), "GET", "brokers", null, ANSWER_TIMEOUT);
    // Before 2.11, brokers are listed by cluster only.
    String listed =
        answer.status() == HttpApi.NOT_FOUND
            ? require(what, "GET", "brokers/" + cluster(), null)
            : accepted(what, answer);
    List<String> brokers = names(listed);
    isAlone = brokers.size() == 1;
    return brokers;
  }

  private String cluster() throws DriverException {
    String what = "list its clusters";
    List<String> clusters = names(require(what, "GET", "clusters", null));
    if (clusters.isEmpty()) {
      throw new DriverException("Pulsar could not " + what + ": there is none");
    }
    return clusters.get(0);
  }

  /** The items of a list in an answer. */
  static List<String> names(String body) throws DriverException {
    return Json.list(Json.read(body)).stream().map(String::valueOf).toList();
  }

  /** A call to one of the active brokers. */
  HttpApi.Answer callBroker(String broker, String method, String path) throws DriverException {
    String url = connection.adminUrl();
    // A broker lists one of its ports, which need not be the one with TLS.
    String base = isAlone ? url : url.substring(0, url.indexOf("://") + 3) + broker;
    return callAt(base, method, path, null, REQUEST_TIMEOUT);
  }

  /** The broker's own words for why it did not do as asked, without the page of its stack. */
  static String messageOf(HttpApi.Answer answer) {
    Matcher message = MESSAGE.matcher(answer.reason());
    return message.find() ? message.group(1).strip() : answer.reason();
  }

  /**
   * The error for an answer that is not good. Pulsar refuses a user that it knows by 401 as well,
   * but then with a reason; who is not known meets a filter before, which gives none.
   */
  static DriverException refusal(String what, HttpApi.Answer answer) {
    String begin = "Pulsar could not " + what + ": ";
    String status = "HTTP " + answer.status();
    String said = messageOf(answer);
    String reason = said.isEmpty() ? status : said + " (" + status + ")";
    boolean unauthorised = answer.status() == HttpApi.UNAUTHORISED;
    if (answer.status() == HttpApi.FORBIDDEN || unauthorised && !said.isEmpty()) {
      return AccessException.noRight(begin + Failures.NO_RIGHT + reason, null);
    }
    if (unauthorised) {
      return new AccessException(begin + Failures.NO_CREDENTIALS + reason, null);
    }
    return answer.isRefusal()
        ? new RefusedException(begin + reason, null)
        : new DriverException(begin + reason);
  }

  HttpApi.Answer call(String method, String path, String body) throws DriverException {
    return callAt(connection.adminUrl(), method, path, body, REQUEST_TIMEOUT);
  }

  private HttpApi.Answer callAt(
      String base, String method, String path, String body, Duration timeout)
      throws DriverException {
    try {
      return http.call(method, base, "/admin/v2/" + path, authentication(), body, timeout);
    } catch (IOException | IllegalArgumentException e) {
      throw new DriverException(NAME + " at " + base + " does not answer: " + HttpApi.words(e), e);
    }
  }

  /** The headers that say who we are. */
  private Map<String, String> authentication() throws DriverException {
    Map<String, String> headers = new HashMap<>();
    Map<String, String> settings = connection.clientSettings();
    String plugin = settings.getOrDefault("authPluginClassName", "");
    if (plugin.isEmpty()) {
      return headers;
    }
    try {
      AuthenticationDataProvider data =
          started(plugin, settings.getOrDefault("authParams", "")).getAuthData();
      if (data.hasDataForHttp() && data.getHttpHeaders() != null) {
        data.getHttpHeaders().forEach(header -> headers.put(header.getKey(), header.getValue()));
      }
      return headers;
    } catch (Exception e) {
      // The plugin's interface lets it throw anything.
      throw Failures.describe("authenticate with " + plugin, e);
    }
  }

  /** The plugin, which keeps the token that it asked for: a call needs no new one. */
  private synchronized Authentication started(String plugin, String parameters)
      throws PulsarClientException {
    if (authentication == null) {
      Authentication made = AuthenticationFactory.create(plugin, parameters);
      made.start();
      authentication = made;
    }
    return authentication;
  }

  /** Ends what asks for tokens. */
  @Override
  public synchronized void close() {
    try {
      if (authentication != null) {
        authentication.close();
      }
    } catch (IOException e) {
      // It holds nothing that the process would miss.
    }
  }
}
