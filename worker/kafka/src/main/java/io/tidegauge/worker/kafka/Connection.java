package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.DriverException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.AdminClientConfig;

/**
 * How to reach the brokers.
 *
 * @param settings the client settings given, all of them valid for an admin client
 * @param timeoutMs longest time an operation may go without progress
 */
record Connection(Map<String, String> settings, int timeoutMs) {
  private static final int TIMEOUT_MS_DEFAULT = 30_000;
  private static final int CONNECT_TIMEOUT_MS = 2_000;

  static Connection of(Map<String, String> settings) throws DriverException {
    Keys.check("connection setting", settings.keySet(), AdminClientConfig.configNames());
    if (settings.getOrDefault(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, "").isBlank()) {
      throw new DriverException(
          "Kafka needs the connection setting bootstrap.servers, for example 127.0.0.1:9092");
    }
    String timeout = settings.get(CommonClientConfigs.DEFAULT_API_TIMEOUT_MS_CONFIG);
    try {
      return new Connection(
          Map.copyOf(settings),
          timeout == null ? TIMEOUT_MS_DEFAULT : Integer.parseInt(timeout.trim()));
    } catch (NumberFormatException e) {
      throw new DriverException(
          "Kafka's default.api.timeout.ms must be a whole number, not \"" + timeout + "\"", e);
    }
  }

  String bootstrapServers() {
    return settings.get(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG);
  }

  /** Settings of the admin client: as given, with the timeouts bounded. */
  Map<String, Object> adminSettings() {
    Map<String, Object> all = new HashMap<>(settings);
    all.put(CommonClientConfigs.DEFAULT_API_TIMEOUT_MS_CONFIG, timeoutMs);
    // The client refuses a request timeout longer than that of the whole call.
    all.putIfAbsent(
        CommonClientConfigs.REQUEST_TIMEOUT_MS_CONFIG, Math.min(timeoutMs, TIMEOUT_MS_DEFAULT));
    return all;
  }

  /** The settings given that a client with these setting names understands too. */
  Map<String, Object> settingsFor(Set<String> configNames) {
    Map<String, Object> shared = new HashMap<>(settings);
    shared.keySet().retainAll(configNames);
    // Meant for the admin's calls; the producer and consumer have timeouts of their own, which
    // users don't shorten.
    shared.remove(CommonClientConfigs.DEFAULT_API_TIMEOUT_MS_CONFIG);
    shared.remove(CommonClientConfigs.REQUEST_TIMEOUT_MS_CONFIG);
    return shared;
  }

  /**
   * Fails at once if none of the bootstrap servers accepts a TCP connection: the client itself
   * would only time out, and not say why.
   */
  void checkReachable() throws DriverException {
    List<String> failures = new ArrayList<>();
    IOException first = null;
    for (String server : bootstrapServers().split(",")) {
      try {
        tryConnect(server.trim());
        return;
      } catch (IOException e) {
        failures.add(server.trim() + " (" + e.getMessage() + ")");
        first = first == null ? e : first;
      }
    }
    throw new DriverException("No Kafka broker reachable at " + String.join(", ", failures), first);
  }

  private static void tryConnect(String server) throws IOException {
    int colon = server.lastIndexOf(':');
    if (colon < 1 || !server.substring(colon + 1).matches("\\d{1,5}")) {
      throw new IOException("not of the form host:port");
    }
    String host = server.substring(0, colon).replaceFirst("^.*://", "").replaceAll("[\\[\\]]", "");
    InetSocketAddress address =
        new InetSocketAddress(host, Integer.parseInt(server.substring(colon + 1)));
    if (address.isUnresolved()) {
      throw new IOException("unknown host");
    }
    try (Socket socket = new Socket()) {
      socket.connect(address, CONNECT_TIMEOUT_MS);
    } catch (IOException e) {
      throw new IOException(
          e.getMessage() == null ? "cannot connect" : e.getMessage().toLowerCase(), e);
    }
  }
}
