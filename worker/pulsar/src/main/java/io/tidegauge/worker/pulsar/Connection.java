package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.Reach;
import io.tidegauge.worker.drivers.Security;
import io.tidegauge.worker.drivers.SettingChecks;
import io.tidegauge.worker.drivers.TlsContext;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.pulsar.client.impl.conf.ClientConfigurationData;

/**
 * How to reach the brokers.
 *
 * @param serviceUrl of the binary protocol, pulsar://host:port
 * @param adminUrl of the admin REST API, http://host:port, without a slash at the end
 * @param namespace tenant/namespace of all topics
 * @param brokers how many brokers must be active before topics are created, whose partitions are
 *     then spread over them; 0 leaves that to the cluster
 * @param clientSettings the other settings, all of them valid for the client: those that follow
 *     from {@code security}, and the client's own as they were given, which win
 * @param tls what {@code security} says about TLS; null if neither URL asks for it
 */
record Connection(
    String serviceUrl,
    String adminUrl,
    String namespace,
    int brokers,
    Map<String, String> clientSettings,
    Security security,
    TlsContext tls) {
  static final String SYSTEM = "Pulsar";
  static final int TIMEOUT_MS = 30_000;
  private static final int SERVICE_PORT_DEFAULT = 6650;
  private static final int SERVICE_TLS_PORT_DEFAULT = 6651;
  private static final List<String> OWN = List.of("serviceUrl", "adminUrl", "namespace", "brokers");

  static Connection of(Map<String, String> settings) throws DriverException {
    Set<String> valid =
        new HashSet<>(EffectiveSettings.settingsOf(new ClientConfigurationData()).keySet());
    valid.addAll(OWN);
    valid.addAll(Security.KEYS);
    SettingChecks.checkNames(SYSTEM, "connection setting", settings.keySet(), valid);
    String namespace = settings.getOrDefault("namespace", "public/default");
    if (!namespace.matches("[^/\\s]+/[^/\\s]+")) {
      throw new DriverException(
          "Pulsar's namespace must be TENANT/NAMESPACE, not \"" + namespace + "\"");
    }
    String brokers = settings.getOrDefault("brokers", "0");
    if (!brokers.matches("[0-9]{1,4}")) {
      throw new DriverException("Pulsar's brokers must be a whole number, not \"" + brokers + "\"");
    }
    String serviceUrl = required(settings, "serviceUrl", "pulsar://127.0.0.1:6650");
    String adminUrl = required(settings, "adminUrl", "http://127.0.0.1:8080");
    Security security = Security.of(SYSTEM, settings, Access.METHODS);
    boolean secured = serviceUrl.startsWith(Access.SERVICE_TLS);
    boolean adminSecured = adminUrl.startsWith(Access.ADMIN_TLS);
    security.agreeWith("serviceUrl", secured, "pulsar://", Access.SERVICE_TLS);
    security.agreeWith("adminUrl", adminSecured, "http://", Access.ADMIN_TLS);
    if (secured) {
      TlsContext.refuseSec1(security);
    }
    TlsContext tls = secured || adminSecured ? TlsContext.of(security) : null;
    Map<String, String> client = Access.settings(security, secured);
    Map<String, String> others = Security.others(settings);
    others.keySet().removeAll(OWN);
    client.putAll(others);
    return new Connection(
        serviceUrl,
        adminUrl.replaceFirst("/+$", ""),
        namespace,
        Integer.parseInt(brokers),
        client,
        security,
        tls);
  }

  private static String required(Map<String, String> settings, String key, String example)
      throws DriverException {
    String value = settings.getOrDefault(key, "").trim();
    if (!value.matches("[a-z+]+://.+")) {
      throw new DriverException(
          "Pulsar needs the connection setting " + key + ", for example " + example);
    }
    return value;
  }

  String fullName(String topic) {
    return "persistent://" + placed(topic);
  }

  /** Where the admin API has a topic. */
  String path(String topic) {
    return "persistent/" + placed(topic);
  }

  String namespaceOf(String topic) {
    String placed = placed(topic);
    return placed.substring(0, placed.lastIndexOf('/'));
  }

  /** Tenant, namespace and name: a topic of others may be in another namespace than ours. */
  private String placed(String topic) {
    String bare = topic.replaceFirst("^persistent://", "");
    return bare.contains("/") ? bare : namespace + "/" + bare;
  }

  /** The servers of the service URL, each of the form host:port. */
  List<String> servers() {
    boolean secured = serviceUrl.startsWith(Access.SERVICE_TLS);
    int port = secured ? SERVICE_TLS_PORT_DEFAULT : SERVICE_PORT_DEFAULT;
    String servers = serviceUrl.replaceFirst("^[^:]*://", "").replaceFirst("/.*$", "");
    return Arrays.stream(servers.split("[,;]"))
        .map(server -> server.matches(".*:\\d+") ? server : server + ":" + port)
        .toList();
  }

  /** Says at once why the brokers can't be reached. */
  Reach reach() {
    boolean secured = serviceUrl.startsWith(Access.SERVICE_TLS);
    return new Reach(SYSTEM, secured ? tls : null, security.verifyHost(), new Greeting());
  }

  /** Records print all their parts; this one holds secrets. */
  @Override
  public String toString() {
    return "Pulsar at " + serviceUrl;
  }
}
