package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.Address;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.stream.oauth2.OAuth2Exception;
import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Secrets;
import io.tidegauge.worker.drivers.Reach;
import io.tidegauge.worker.drivers.Security;
import io.tidegauge.worker.drivers.SettingChecks;
import io.tidegauge.worker.drivers.TlsContext;
import java.net.URI;
import java.net.URISyntaxException;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * How to reach RabbitMQ.
 *
 * <ul>
 *   <li>{@code uri}: one amqp:// or amqps:// address for each node, with user, password and virtual
 *       host, separated by commas; the credentials and the virtual host of the first are used for
 *       all
 *   <li>{@code streamUri}: likewise rabbitmq-stream://, needed for streams
 *   <li>{@code managementUrl}: base addresses of the management HTTP API, needed to read settings
 *       back and for mirrored queues; the credentials of {@code uri} are used
 *   <li>{@code queueType}: the type of topics that do not say it themselves: classic (default),
 *       quorum, stream, mirrored
 *   <li>{@code nodes}: how many nodes must be running before topics are created
 *   <li>{@code timeoutMs}: longest time an operation may take
 *   <li>{@code tls.*} and {@code auth.*}: see {@link Security}; auth.user and auth.password win
 *       over those in the addresses
 * </ul>
 *
 * @param tls what {@code security} says about TLS; null if no address asks for it
 * @param tokens of all connections but those of streams; null where a password or a certificate
 *     says who we are
 */
record Connection(
    List<URI> uris,
    List<String> streamUris,
    List<URI> managementUrls,
    QueueType queueType,
    int nodes,
    int timeoutMs,
    Security security,
    TlsContext tls,
    Tokens tokens) {
  static final String SYSTEM = "RabbitMQ";
  private static final List<String> KEYS =
      List.of("uri", "streamUri", "managementUrl", "queueType", "nodes", "timeoutMs");
  private static final int TIMEOUT_MS_DEFAULT = 30_000;
  private static final int CONNECT_TIMEOUT_MS_MAX = 5_000;

  static Connection of(Map<String, String> settings) throws DriverException {
    List<String> valid = new ArrayList<>(KEYS);
    valid.addAll(Security.KEYS);
    SettingChecks.checkNames(SYSTEM, "connection setting", settings.keySet(), valid);
    Security security = Security.of(SYSTEM, settings, Access.METHODS);
    List<URI> uris = addresses("uri", settings.get("uri"), List.of("amqp", "amqps"));
    if (uris.isEmpty()) {
      throw new DriverException(
          "RabbitMQ needs the connection setting uri, for example amqp://guest:guest@127.0.0.1:5672");
    }
    List<URI> streamUris =
        addresses(
            "streamUri", settings.get("streamUri"), List.of("rabbitmq-stream", Access.STREAM_TLS));
    List<URI> managementUrls =
        addresses(
            "managementUrl", settings.get("managementUrl"), List.of("http", Access.MANAGEMENT_TLS));
    boolean anyTls =
        Access.secured(security, "uri", uris, "amqp", Access.AMQP_TLS)
            | Access.secured(
                security, "streamUri", streamUris, "rabbitmq-stream", Access.STREAM_TLS)
            | Access.secured(
                security, "managementUrl", managementUrls, "http", Access.MANAGEMENT_TLS);
    return new Connection(
        uris,
        streamUris.stream().map(URI::toString).toList(),
        managementUrls,
        QueueType.of(settings.getOrDefault("queueType", "classic")),
        SettingChecks.parseWholeNumber(SYSTEM, settings, "nodes", 1, 1),
        SettingChecks.parseWholeNumber(SYSTEM, settings, "timeoutMs", TIMEOUT_MS_DEFAULT, 1),
        security,
        anyTls ? TlsContext.of(security) : null,
        security.method().equals(Security.OAUTH2) ? Tokens.of(security.tokens()) : null);
  }

  private static List<URI> addresses(String key, String text, List<String> schemes)
      throws DriverException {
    List<URI> found = new ArrayList<>();
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
        found.add(uri);
        Secrets.remember(userInfo(uri, 1));
      } catch (URISyntaxException e) {
        // The address itself is not repeated: it may hold a password.
        throw new DriverException("RabbitMQ's " + key + " is not usable: " + e.getReason(), null);
      }
    }
    return List.copyOf(found);
  }

  /** A factory of AMQP connections to the first node that answers. */
  ConnectionFactory factory() throws DriverException {
    ConnectionFactory factory = new ConnectionFactory();
    if (tokens != null) {
      // Without one the client would fail with what is not in its signatures.
      token();
    }
    try {
      factory.setUri(uris.get(0));
    } catch (GeneralSecurityException | RuntimeException e) {
      throw new DriverException("RabbitMQ's uri is not usable: " + e.getMessage(), null);
    }
    Access.apply(this, factory);
    // The driver opens a new connection itself, so that confirms of the old and the new one are
    // never mixed up.
    factory.setAutomaticRecoveryEnabled(false);
    factory.setTopologyRecoveryEnabled(false);
    factory.setConnectionTimeout(Math.min(timeoutMs, CONNECT_TIMEOUT_MS_MAX));
    factory.setChannelRpcTimeout(timeoutMs);
    return factory;
  }

  /**
   * The nodes' addresses, beginning with that of a number, so that clients spread over the nodes.
   */
  List<Address> addressesFrom(int number) {
    List<Address> all = new ArrayList<>();
    for (URI uri : uris) {
      int port = uri.getPort() >= 0 ? uri.getPort() : uri.getScheme().equals("amqps") ? 5671 : 5672;
      all.add(new Address(uri.getHost(), port));
    }
    Collections.rotate(all, -Math.floorMod(number, all.size()));
    return all;
  }

  /** The user: auth.user, or else that of the first address. */
  String user() {
    return security.user().isEmpty() ? userInfo(uris.get(0), 0) : security.user();
  }

  String password() {
    return security.user().isEmpty() ? userInfo(uris.get(0), 1) : security.password();
  }

  /** A token that has not expired, of a connection that has any. */
  String token() throws DriverException {
    try {
      return tokens.getPassword();
    } catch (OAuth2Exception e) {
      throw Failures.describe("get a token", e);
    }
  }

  private static String userInfo(URI uri, int part) {
    String info = uri.getUserInfo();
    String[] parts = info == null ? new String[0] : info.split(":", 2);
    return parts.length > part ? parts[part] : "guest";
  }

  /** Whether AMQP connections use TLS. */
  boolean isSecured() {
    return uris.get(0).getScheme().equals(Access.AMQP_TLS);
  }

  /** The nodes' AMQP addresses, each of the form host:port. */
  List<String> servers() {
    return addressesFrom(0).stream().map(one -> one.getHost() + ":" + one.getPort()).toList();
  }

  /** Says at once why the nodes can't be reached. */
  Reach reach() {
    return new Reach(SYSTEM, isSecured() ? tls : null, security.verifyHost(), new Greeting());
  }

  String virtualHost() {
    String path = uris.get(0).getPath();
    return path == null || path.length() < 2 ? "/" : path.substring(1);
  }

  /** Addresses in words for an error, without credentials. */
  String shown() {
    return String.join(", ", servers());
  }

  /** The error for a connection that could not be opened. */
  DriverException unreachable(Exception failure) {
    String what = "be reached at " + shown();
    DriverException found = Failures.describe(what, failure);
    if (found instanceof AccessException || isSecured()) {
      return found;
    }
    Address first = addressesFrom(0).get(0);
    return Reach.speaksTls(new Reach.Address(first.getHost(), first.getPort()))
        ? new AccessException(
            "RabbitMQ at " + first + " wants TLS: the address must begin with amqps://", failure)
        : found;
  }

  /** Records print all their parts; this one holds a password. */
  @Override
  public String toString() {
    return "RabbitMQ at " + shown() + " " + Arrays.asList(queueType, nodes, timeoutMs);
  }
}
