package io.tidegauge.worker.nats;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.HttpApi;
import io.tidegauge.worker.drivers.Json;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The servers' monitoring endpoints, which anybody may read who reaches them. */
final class Monitoring {
  private static final String NAME = "NATS's monitoring endpoint";
  private static final int TIMEOUT_MS_MAX = 5_000;

  private final List<String> bases;
  private final Duration timeout;
  private final HttpApi http;

  Monitoring(Connection connection) {
    this.bases =
        connection.monitoringUrls().stream()
            .map(base -> base.toString().replaceFirst("/+$", ""))
            .toList();
    this.timeout = Duration.ofMillis(Math.min(TIMEOUT_MS_MAX, connection.timeoutMs()));
    this.http = new HttpApi(NAME, "monitoringUrl", connection.tls(), timeout);
  }

  List<String> bases() {
    return bases;
  }

  /** What one server says at a path. {@link IOException} if it can't be reached. */
  Map<String, Object> read(String base, String path) throws DriverException, IOException {
    HttpApi.Answer answer = http.call("GET", base, path, Map.of(), null, timeout);
    if (!answer.isGood()) {
      throw new DriverException(NAME + " at " + base + " answers " + answer.status(), null);
    }
    return Json.readMap(answer.body());
  }
}
