package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Keys;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.pulsar.client.impl.conf.ClientConfigurationData;

/**
 * How to reach the brokers.
 *
 * @param serviceUrl of the binary protocol, pulsar://host:port
 * @param adminUrl of the admin REST API, http://host:port, without a slash at the end
 * @param namespace tenant/namespace of all topics
 * @param brokers how many brokers must be active before topics are created, whose partitions are
 *     then spread over them; 0 leaves that to the cluster
 * @param clientSettings the other settings given, all of them valid for the client
 */
record Connection(
    String serviceUrl,
    String adminUrl,
    String namespace,
    int brokers,
    Map<String, String> clientSettings) {
  static final int TIMEOUT_MS = 30_000;
  private static final int CONNECT_TIMEOUT_MS = 2_000;
  private static final int SERVICE_PORT_DEFAULT = 6650;
  private static final List<String> OWN = List.of("serviceUrl", "adminUrl", "namespace", "brokers");

  static Connection of(Map<String, String> settings) throws DriverException {
    Set<String> valid = new HashSet<>(Json.settingsOf(new ClientConfigurationData()).keySet());
    valid.addAll(OWN);
    Keys.check("Pulsar", "connection setting", settings.keySet(), valid);
    String namespace = settings.getOrDefault("namespace", "public/default");
    if (!namespace.matches("[^/\\s]+/[^/\\s]+")) {
      throw new DriverException(
          "Pulsar's namespace must be TENANT/NAMESPACE, not \"" + namespace + "\"");
    }
    String brokers = settings.getOrDefault("brokers", "0");
    if (!brokers.matches("[0-9]{1,4}")) {
      throw new DriverException("Pulsar's brokers must be a whole number, not \"" + brokers + "\"");
    }
    Map<String, String> others = new TreeMap<>(settings);
    others.keySet().removeAll(OWN);
    return new Connection(
        required(settings, "serviceUrl", "pulsar://127.0.0.1:6650"),
        required(settings, "adminUrl", "http://127.0.0.1:8080").replaceFirst("/+$", ""),
        namespace,
        Integer.parseInt(brokers),
        others);
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
    return "persistent://" + namespace + "/" + topic;
  }

  /**
   * Fails at once if no broker accepts a TCP connection: the client itself would try for half a
   * minute.
   */
  void checkReachable() throws DriverException {
    String scheme = serviceUrl.substring(0, serviceUrl.indexOf("://") + 3);
    List<String> failures = new ArrayList<>();
    IOException first = null;
    for (String server :
        serviceUrl.substring(scheme.length()).replaceFirst("/.*$", "").split("[,;]")) {
      try {
        tryConnect(scheme + server);
        return;
      } catch (IOException e) {
        failures.add(server + " (" + e.getMessage() + ")");
        first = first == null ? e : first;
      }
    }
    throw new DriverException(
        "No Pulsar broker reachable at " + String.join(", ", failures), first);
  }

  private static void tryConnect(String url) throws IOException {
    URI uri;
    try {
      uri = URI.create(url);
    } catch (IllegalArgumentException e) {
      throw new IOException("not of the form host:port", e);
    }
    if (uri.getHost() == null) {
      throw new IOException("not of the form host:port");
    }
    InetSocketAddress address =
        new InetSocketAddress(
            uri.getHost(), uri.getPort() < 0 ? SERVICE_PORT_DEFAULT : uri.getPort());
    if (address.isUnresolved()) {
      throw new IOException("unknown host");
    }
    try (Socket socket = new Socket()) {
      socket.connect(address, CONNECT_TIMEOUT_MS);
    } catch (IOException e) {
      throw new IOException(Failures.words(e), e);
    }
  }
}
