package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.RefusedException;
import io.tidegauge.worker.drivers.ClientFailures;
import io.tidegauge.worker.drivers.HttpApi;
import io.tidegauge.worker.drivers.Json;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** RabbitMQ's management HTTP API, on the first node that answers. */
final class Management {
  private static final String NAME = "RabbitMQ's management API";
  private static final int TIMEOUT_MS_MAX = 10_000;

  private final List<String> bases;
  private final Connection connection;
  private final String virtualHost;
  private final Duration timeout;
  private final HttpApi http;

  Management(Connection connection) {
    this.bases =
        connection.managementUrls().stream()
            .map(base -> base.toString().replaceFirst("/+$", ""))
            .toList();
    this.connection = connection;
    this.virtualHost = encode(connection.virtualHost());
    this.timeout = Duration.ofMillis(Math.min(TIMEOUT_MS_MAX, connection.timeoutMs()));
    this.http = new HttpApi(NAME, "managementUrl", connection.tls(), timeout);
  }

  boolean isKnown() {
    return !bases.isEmpty();
  }

  Map<String, Object> overview() throws DriverException {
    return Json.map(get("/api/overview"));
  }

  List<Map<String, Object>> nodes() throws DriverException {
    return Json.maps(get("/api/nodes"));
  }

  /** Policies of the virtual host, then those that operators imposed. */
  List<Map<String, Object>> policies() throws DriverException {
    List<Map<String, Object>> all = new ArrayList<>(Json.maps(get("/api/policies/" + virtualHost)));
    all.addAll(Json.maps(get("/api/operator-policies/" + virtualHost)));
    return all;
  }

  /** The names of the queues that an exchange leads to; empty if there is no such exchange. */
  Set<String> queuesOf(String exchange) throws DriverException {
    Set<String> names = new TreeSet<>();
    String path = "/api/exchanges/" + virtualHost + "/" + encode(exchange) + "/bindings/source";
    for (Map<String, Object> binding : Json.maps(get(path))) {
      if ("queue".equals(binding.get("destination_type"))) {
        names.add(String.valueOf(binding.get("destination")));
      }
    }
    return names;
  }

  /** The arguments that an exchange was declared with; empty if there is no such exchange. */
  Map<String, Object> exchangeArguments(String exchange) throws DriverException {
    return Json.map(
        Json.map(get("/api/exchanges/" + virtualHost + "/" + encode(exchange))).get("arguments"));
  }

  /** One queue; empty if there is none of that name. */
  Map<String, Object> queue(String name) throws DriverException {
    return Json.map(get("/api/queues/" + virtualHost + "/" + encode(name)));
  }

  void putPolicy(String name, Map<String, Object> policy) throws DriverException {
    call("PUT", "/api/policies/" + virtualHost + "/" + encode(name), policy);
  }

  void deletePolicy(String name) throws DriverException {
    call("DELETE", "/api/policies/" + virtualHost + "/" + encode(name), null);
  }

  private Object get(String path) throws DriverException {
    return call("GET", path, null);
  }

  /** The answer's content; null if there is none or nothing at that path. */
  private Object call(String method, String path, Map<String, Object> body) throws DriverException {
    String content = body == null ? null : Json.write(body);
    List<DriverException> failures = new ArrayList<>();
    for (String base : bases) {
      HttpApi.Answer answer;
      try {
        answer = http.call(method, base, path, headers(), content, timeout);
      } catch (AccessException e) {
        failures.add(e);
        continue;
      } catch (IOException e) {
        String call = "answer " + method + " " + path + " on its management API: ";
        failures.add(new DriverException("RabbitMQ could not " + call + HttpApi.words(e), e));
        continue;
      }
      return contentOf(answer, method + " " + path);
    }
    throw failures.get(0);
  }

  /** Who we are. A token is a new one after a while. */
  private Map<String, String> headers() throws DriverException {
    if (connection.tokens() != null) {
      return Map.of("Authorization", "Bearer " + connection.token());
    }
    byte[] credentials =
        (connection.user() + ":" + connection.password()).getBytes(StandardCharsets.UTF_8);
    return Map.of("Authorization", "Basic " + Base64.getEncoder().encodeToString(credentials));
  }

  private static Object contentOf(HttpApi.Answer answer, String call) throws DriverException {
    if (answer.status() == HttpApi.NOT_FOUND) {
      return null;
    }
    if (answer.isGood()) {
      return answer.body().isBlank() ? null : Json.read(answer.body());
    }
    String said = answer.reason().isEmpty() ? answer.body() : answer.reason();
    String reason = ClientFailures.oneLine(said);
    if (answer.status() != HttpApi.UNAUTHORISED && answer.status() != HttpApi.FORBIDDEN) {
      String refusal = NAME + " refused " + call + " (" + answer.status() + "): " + reason;
      throw answer.isRefusal() ? new RefusedException(refusal, null) : new DriverException(refusal);
    }
    // The API answers both by the same status; the words show a failed login.
    throw reason.toLowerCase(Locale.ROOT).contains("login failed")
        ? new AccessException(
            NAME + " refused the login: wrong password or unknown user (" + reason + ")", null)
        : AccessException.noRight(
            NAME + ": the user has no right to " + call + " (" + reason + ")", null);
  }

  private static String encode(String name) {
    return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
