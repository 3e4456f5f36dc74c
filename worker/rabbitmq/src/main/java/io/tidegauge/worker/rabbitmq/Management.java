package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Reach;
import io.tidegauge.worker.api.TlsContext;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import javax.net.ssl.HttpsURLConnection;

/** RabbitMQ's management HTTP API, on the first node that answers. */
final class Management {
  private static final int TIMEOUT_MS_MAX = 10_000;
  private static final int NOT_FOUND = 404;
  private static final int UNAUTHORISED = 401;
  private static final int FORBIDDEN = 403;

  private final List<URI> bases;
  private final String authorisation;
  private final String virtualHost;
  private final int timeoutMs;
  private final TlsContext tls;
  private final boolean verifyHost;

  Management(Connection connection) {
    this.bases = connection.managementUrls();
    String credentials = connection.user() + ":" + connection.password();
    this.authorisation =
        "Basic " + Base64.getEncoder().encodeToString(credentials.getBytes(StandardCharsets.UTF_8));
    this.virtualHost = encode(connection.virtualHost());
    this.tls = connection.tls();
    this.verifyHost = connection.security().verifyHost();
    this.timeoutMs = Math.min(TIMEOUT_MS_MAX, connection.timeoutMs());
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
    IOException failure = null;
    for (URI base : bases) {
      try {
        return callOn(base, method, path, body);
      } catch (IOException e) {
        failure = failure == null ? e : failure;
      }
    }
    DriverException told =
        Failures.describe("answer " + method + " " + path + " on its management API", failure);
    URI first = bases.get(0);
    if (first.getScheme().equals("http")
        && Reach.speaksTls(new Reach.Address(first.getHost(), first.getPort()))) {
      throw new AccessException(
          "RabbitMQ's management API at "
              + first
              + " wants TLS: managementUrl must begin with https://",
          failure);
    }
    throw told;
  }

  private Object callOn(URI base, String method, String path, Map<String, Object> body)
      throws IOException, DriverException {
    String address = base.toString().replaceFirst("/+$", "") + path;
    HttpURLConnection http = (HttpURLConnection) URI.create(address).toURL().openConnection();
    if (http instanceof HttpsURLConnection https) {
      https.setSSLSocketFactory(tls.sslContext().getSocketFactory());
      if (!verifyHost) {
        https.setHostnameVerifier((host, session) -> true);
      }
    }
    http.setRequestMethod(method);
    http.setConnectTimeout(timeoutMs);
    http.setReadTimeout(timeoutMs);
    http.setRequestProperty("Authorization", authorisation);
    if (body != null) {
      http.setDoOutput(true);
      http.setRequestProperty("Content-Type", "application/json");
      http.getOutputStream().write(Json.write(body).getBytes(StandardCharsets.UTF_8));
    }
    int status = http.getResponseCode();
    try (InputStream content = status < 400 ? http.getInputStream() : http.getErrorStream()) {
      String text =
          content == null ? "" : new String(content.readAllBytes(), StandardCharsets.UTF_8);
      if (status == NOT_FOUND) {
        return null;
      }
      if (status == UNAUTHORISED || status == FORBIDDEN) {
        throw refusal(method + " " + path, reason(text));
      }
      if (status >= 400) {
        throw new DriverException(
            "RabbitMQ's management API refused "
                + method
                + " "
                + path
                + " ("
                + status
                + "): "
                + reason(text));
      }
      return text.isBlank() ? null : Json.read(text);
    }
  }

  /** The API answers both by the same status; the words tell a failed login. */
  private static AccessException refusal(String call, String reason) {
    return reason.toLowerCase(Locale.ROOT).contains("login failed")
        ? new AccessException(
            "RabbitMQ's management API refused the login: wrong password or unknown user ("
                + reason
                + ")",
            null)
        : AccessException.noRight(
            "RabbitMQ's management API: the user has no right to " + call + " (" + reason + ")",
            null);
  }

  private static String reason(String text) throws IOException {
    Object reason = text.startsWith("{") ? Json.map(Json.read(text)).get("reason") : null;
    return Failures.oneLine(reason == null ? text : reason.toString());
  }

  private static String encode(String name) {
    return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
