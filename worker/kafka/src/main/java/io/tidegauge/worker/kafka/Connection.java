package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.Reach;
import io.tidegauge.worker.drivers.Security;
import io.tidegauge.worker.drivers.SettingChecks;
import io.tidegauge.worker.drivers.TlsContext;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.AdminClientConfig;

/**
 * How to reach the brokers.
 *
 * @param settings the client settings, all of them valid for an admin client: those that follow
 *     from {@code security}, and the client's own as they were given, which win
 * @param timeoutMs longest time an operation may go without progress
 * @param tls what {@code security} says about TLS; null without it
 */
record Connection(Map<String, String> settings, int timeoutMs, Security security, TlsContext tls) {
  static final String SYSTEM = "Kafka";
  private static final int TIMEOUT_MS_DEFAULT = 30_000;

  static Connection of(Map<String, String> given) throws DriverException {
    Set<String> valid = new HashSet<>(AdminClientConfig.configNames());
    valid.addAll(Security.KEYS);
    valid.addAll(Access.KEYS);
    SettingChecks.checkNames(SYSTEM, "connection setting", given.keySet(), valid);
    Security security = Security.of(SYSTEM, given, Access.METHODS);
    TlsContext tls = Boolean.TRUE.equals(security.tls()) ? TlsContext.of(security) : null;
    Map<String, String> settings = Access.settings(security, tls, given);
    settings.putAll(Security.others(given));
    settings.keySet().removeAll(Access.KEYS);
    if (settings.getOrDefault(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, "").isBlank()) {
      throw new DriverException(
          "Kafka needs the connection setting bootstrap.servers, for example 127.0.0.1:9092");
    }
    String timeout = settings.get(CommonClientConfigs.DEFAULT_API_TIMEOUT_MS_CONFIG);
    try {
      return new Connection(
          Map.copyOf(settings),
          timeout == null ? TIMEOUT_MS_DEFAULT : Integer.parseInt(timeout.trim()),
          security,
          tls);
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

  /** The bootstrap servers, each of the form host:port. */
  List<String> servers() {
    return Arrays.stream(bootstrapServers().split(",")).map(String::trim).toList();
  }

  /** The client's security protocol, by our settings or by its own: "SASL_SSL". */
  private String protocol() {
    return settings
        .getOrDefault(CommonClientConfigs.SECURITY_PROTOCOL_CONFIG, "")
        .toUpperCase(Locale.ROOT);
  }

  /** Says at once why the brokers can't be reached. */
  Reach reach() {
    // Stores that the client's own settings name are not read here.
    boolean hasOwnTls = tls == null && protocol().endsWith("SSL");
    Reach.Greeting greeting =
        hasOwnTls ? (in, out) -> {} : new Greeting(protocol().startsWith("SASL"));
    return new Reach(SYSTEM, tls, security.verifyHost(), greeting);
  }

  /** Records print all their parts; this one holds secrets. */
  @Override
  public String toString() {
    return "Kafka at " + bootstrapServers();
  }
}
