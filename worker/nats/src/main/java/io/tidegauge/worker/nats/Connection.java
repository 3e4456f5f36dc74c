package io.tidegauge.worker.nats;

import io.nats.client.ErrorListener;
import io.nats.client.JetStreamOptions;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.Reach;
import io.tidegauge.worker.drivers.Security;
import io.tidegauge.worker.drivers.SettingChecks;
import io.tidegauge.worker.drivers.TlsContext;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * How to reach NATS.
 *
 * <ul>
 *   <li>{@code servers}: one nats:// or tls:// address for each server, separated by commas
 *   <li>{@code monitoringUrl}: likewise the http:// or https:// addresses of their monitoring
 *       endpoints, needed to read settings of servers back
 *   <li>{@code timeoutMs}: longest time an operation may take
 *   <li>{@code tls.*} and {@code auth.*}: see {@link Security}
 * </ul>
 *
 * @param tls what {@code security} says about TLS; null if no address asks for it
 */
record Connection(
    List<URI> servers, List<URI> monitoringUrls, int timeoutMs, Security security, TlsContext tls) {
  static final String SYSTEM = "NATS";
  private static final String SERVERS = "servers";
  private static final String MONITORING = "monitoringUrl";
  private static final String TIMEOUT = "timeoutMs";
  private static final String PLAIN = "nats";
  private static final String SECURED = "tls";
  private static final int TIMEOUT_MS_DEFAULT = 30_000;
  private static final int PORT_DEFAULT = 4222;

  /** The client's own limit for messages that wait to be written; beyond it, sending fails. */
  private static final int WAITING_DEFAULT = Options.DEFAULT_MAX_MESSAGES_IN_OUTGOING_QUEUE;

  static Connection of(Map<String, String> settings) throws DriverException {
    List<String> valid = new ArrayList<>(List.of(SERVERS, MONITORING, TIMEOUT));
    valid.addAll(Security.KEYS);
    SettingChecks.checkNames(SYSTEM, "connection setting", settings.keySet(), valid);
    Security security = Security.of(SYSTEM, settings, Access.METHODS);
    List<URI> servers = addresses(SERVERS, settings.get(SERVERS), List.of(PLAIN, SECURED));
    if (servers.isEmpty()) {
      throw new DriverException(
          "NATS needs the connection setting servers, for example nats://127.0.0.1:4222");
    }
    List<URI> monitoring =
        addresses(MONITORING, settings.get(MONITORING), List.of("http", "https"));
    boolean isSecured = servers.stream().anyMatch(one -> one.getScheme().equals(SECURED));
    boolean tls = isSecured || Boolean.TRUE.equals(security.tls());
    boolean monitoringTls = monitoring.stream().anyMatch(one -> one.getScheme().equals("https"));
    return new Connection(
        servers,
        monitoring,
        SettingChecks.parseWholeNumber(SYSTEM, settings, TIMEOUT, TIMEOUT_MS_DEFAULT, 1),
        security,
        tls || monitoringTls ? TlsContext.of(security) : null);
  }

  private static List<URI> addresses(String key, String text, List<String> schemes)
      throws DriverException {
    List<URI> all = new ArrayList<>();
    for (String part : text == null ? new String[0] : text.split(",")) {
      if (part.isBlank()) {
        continue;
      }
      try {
        URI uri = new URI(part.trim());
        if (uri.getHost() == null || !schemes.contains(uri.getScheme())) {
          throw new URISyntaxException(
              "", "it must begin with " + String.join(":// or ", schemes) + "://");
        }
        all.add(uri);
      } catch (URISyntaxException e) {
        // The address itself is not repeated: it may hold a password.
        throw new DriverException("NATS's " + key + " is not usable: " + e.getReason(), null);
      }
    }
    return List.copyOf(all);
  }

  /** Whether connections to servers are encrypted. */
  boolean isSecured() {
    return Boolean.TRUE.equals(security.tls())
        || servers.stream().anyMatch(one -> one.getScheme().equals(SECURED));
  }

  /** The servers' addresses, each of the form host:port. */
  List<String> hostsAndPorts() {
    return servers.stream().map(one -> one.getHost() + ":" + portOf(one)).toList();
  }

  private static int portOf(URI uri) {
    return uri.getPort() < 0 ? PORT_DEFAULT : uri.getPort();
  }

  /** Says at once why the servers can't be reached: their first word is always a plain one. */
  Reach reach() {
    return new Reach(
        SYSTEM,
        /* tls= */ null,
        security.verifyHost(),
        new Greeting(isSecured(), security.authenticates()));
  }

  /**
   * A connection to one of the servers; it goes to another one when that is lost, for ever.
   *
   * @param number of the client: clients begin with different servers
   * @param waitingMax messages that may wait to be written
   */
  io.nats.client.Connection open(
      String name, int number, int waitingMax, int replyMs, ErrorListener listener)
      throws DriverException {
    List<String> urls = new ArrayList<>();
    for (URI server : servers) {
      urls.add((isSecured() ? SECURED : PLAIN) + "://" + server.getHost() + ":" + portOf(server));
    }
    Collections.rotate(urls, -Math.floorMod(number, urls.size()));
    Options.Builder builder =
        new Options.Builder()
            .servers(urls.toArray(String[]::new))
            .noRandomize()
            .connectionName(name)
            .maxReconnects(-1)
            // What no server is there to take comes back as an error, and not after a while.
            .reportNoResponders()
            .useTimeoutException()
            .requestCleanupInterval(Duration.ofMillis(Math.max(100, replyMs / 5)))
            .maxMessagesInOutgoingQueue(Math.max(WAITING_DEFAULT, waitingMax))
            .errorListener(listener);
    Access.apply(this, builder);
    try {
      return Nats.connect(builder.build());
    } catch (IOException | RuntimeException e) {
      Exception cause = isSecured() ? Access.handshakeFailure(this, e) : e;
      throw Failures.describe("be reached at " + String.join(", ", hostsAndPorts()), cause);
    } catch (InterruptedException e) {
      throw Failures.describe("be reached", e);
    }
  }

  /** For calls that are no messages. */
  JetStreamOptions calls() {
    int callMs = Math.min(timeoutMs, 10_000);
    return JetStreamOptions.builder().requestTimeout(Duration.ofMillis(callMs)).build();
  }

  /** Records print all their parts; this one holds a password. */
  @Override
  public String toString() {
    return "NATS at " + String.join(", ", hostsAndPorts());
  }
}
