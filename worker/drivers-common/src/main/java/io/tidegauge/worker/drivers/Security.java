package io.tidegauge.worker.drivers;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Secrets;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * How to secure a connection and who we are: the connection settings {@code tls.*} and {@code
 * auth.*}, the same for every driver.
 *
 * @param tls {@code tls.enabled}; true if it was not said but files for it were given, else null
 * @param caPath {@code tls.ca.path}: PEM certificates that the server's must be signed by; empty
 *     for those that Java trusts
 * @param certificatePath {@code tls.certificate.path}: our own certificate, PEM; empty for none
 * @param keyPath {@code tls.key.path}: its private key, PEM (PKCS 8, PKCS 1 for RSA, SEC 1 for
 *     elliptic curves), not encrypted
 * @param verifyHost {@code tls.verify.host}: whether the server's certificate must name its host
 * @param method {@code auth.method}; empty if it was not said
 * @param user {@code auth.user}
 * @param password {@code auth.password}
 * @param token {@code auth.token}
 * @param tokens where tokens come from, if the client gets them itself
 * @param kerberos who we are by Kerberos
 */
public record Security(
    Boolean tls,
    String caPath,
    String certificatePath,
    String keyPath,
    boolean verifyHost,
    String method,
    String user,
    String password,
    String token,
    TokenSource tokens,
    Kerberos kerberos) {
  public static final String NONE = "none";
  public static final String PLAIN = "plain";
  public static final String PASSWORD = "password";
  public static final String SCRAM_SHA_256 = "scram-sha-256";
  public static final String SCRAM_SHA_512 = "scram-sha-512";
  public static final String TOKEN = "token";
  public static final String TLS = "tls";

  /** A certificate, as RabbitMQ calls it. */
  public static final String EXTERNAL = "external";

  /** Tokens of OAuth 2.0, as Kafka calls them. */
  public static final String OAUTHBEARER = "oauthbearer";

  public static final String OAUTH2 = "oauth2";

  public static final String KERBEROS = "kerberos";

  /** What Amazon's library finds in the environment says who we are. */
  public static final String AWS_MSK_IAM = "aws-msk-iam";

  /** The names of the settings. */
  public static final List<String> KEYS =
      Stream.of(
              List.of(
                  "tls.enabled",
                  "tls.ca.path",
                  "tls.certificate.path",
                  "tls.key.path",
                  "tls.verify.host",
                  "auth.method",
                  "auth.user",
                  "auth.password",
                  "auth.token"),
              TokenSource.KEYS,
              Kerberos.KEYS)
          .flatMap(List::stream)
          .toList();

  private static final List<String> WITH_USER =
      List.of(PLAIN, PASSWORD, SCRAM_SHA_256, SCRAM_SHA_512);
  private static final List<String> WITH_TOKENS = List.of(OAUTHBEARER, OAUTH2);
  private static final List<String> WITH_CERTIFICATE = List.of(TLS, EXTERNAL);

  /**
   * Reads the settings.
   *
   * @param system whose connection it is, for messages: "Kafka"
   * @param settings all settings of the connection
   * @param methods the values of {@code auth.method} that the driver knows, besides {@code none}
   * @throws DriverException if they are not usable or contradict each other
   */
  public static Security of(String system, Map<String, String> settings, Collection<String> methods)
      throws DriverException {
    String tls = settings.getOrDefault("tls.enabled", "").trim();
    String ca = settings.getOrDefault("tls.ca.path", "").trim();
    String certificate = settings.getOrDefault("tls.certificate.path", "").trim();
    Boolean ifUnsaid = ca.isEmpty() && certificate.isEmpty() ? null : Boolean.TRUE;
    Security found =
        new Security(
            tls.isEmpty()
                ? ifUnsaid
                : Boolean.valueOf(SettingChecks.parseTruth(system, "tls.enabled", tls)),
            ca,
            certificate,
            settings.getOrDefault("tls.key.path", "").trim(),
            SettingChecks.parseTruth(
                system, "tls.verify.host", settings.getOrDefault("tls.verify.host", "true")),
            settings.getOrDefault("auth.method", "").trim(),
            settings.getOrDefault("auth.user", ""),
            settings.getOrDefault("auth.password", ""),
            settings.getOrDefault("auth.token", "").trim(),
            TokenSource.of(settings),
            Kerberos.of(settings));
    Secrets.remember(found.password);
    Secrets.remember(found.token);
    found.check(system, methods);
    return found;
  }

  /** The settings that are the driver's own. */
  public static Map<String, String> others(Map<String, String> settings) {
    Map<String, String> others = new TreeMap<>(settings);
    others.keySet().removeAll(KEYS);
    return others;
  }

  private void check(String system, Collection<String> methods) throws DriverException {
    if (!method.isEmpty() && !method.equals(NONE) && !methods.contains(method)) {
      throw new DriverException(
          system
              + " has no auth.method \""
              + method
              + "\"; possible are none, "
              + String.join(", ", methods));
    }
    if (certificatePath.isEmpty() != keyPath.isEmpty()) {
      throw new DriverException(
          system + " needs tls.certificate.path and tls.key.path both, or neither");
    }
    if (WITH_USER.contains(method) && user.isEmpty()) {
      throw new DriverException(system + "'s auth.method " + method + " needs auth.user");
    }
    if (method.equals(TOKEN) && !tokens.isFile() && token.isEmpty()) {
      throw new DriverException(system + "'s auth.method token needs auth.token");
    }
    if (WITH_TOKENS.contains(method) || method.equals(TOKEN) && tokens.isFile()) {
      tokens.check(system, method);
    }
    if (method.equals(KERBEROS)) {
      kerberos.check(system);
    }
    if (byCertificate() && certificatePath.isEmpty()) {
      throw new DriverException(
          system + "'s auth.method " + method + " needs tls.certificate.path and tls.key.path");
    }
    if (Boolean.FALSE.equals(tls) && (byCertificate() || hasOwnCertificate())) {
      throw new DriverException(
          system + " can't show a certificate without TLS: set tls.enabled to true");
    }
  }

  /**
   * Whether a connection to an address is secured: what its scheme says, which {@code tls.enabled}
   * must not contradict.
   *
   * @param key the setting that the address is from
   * @param securedByScheme whether the address's scheme is one for TLS
   * @param plain the scheme without TLS, and {@code secured} that with it
   */
  public void agreeWith(String key, boolean securedByScheme, String plain, String secured)
      throws DriverException {
    if (tls == null || tls == securedByScheme) {
      return;
    }
    throw new DriverException(
        "tls.enabled is "
            + tls
            + " (as it is by default where files for TLS are given), but "
            + key
            + " begins with "
            + (securedByScheme ? secured : plain)
            + ": write "
            + (tls ? secured : plain)
            + " (and the port for it)");
  }

  public boolean hasOwnCertificate() {
    return !certificatePath.isEmpty();
  }

  /** Whether our own certificate says who we are. */
  public boolean byCertificate() {
    return WITH_CERTIFICATE.contains(method);
  }

  /** Whether somebody is named or a secret given, by whatever method. */
  public boolean authenticates() {
    return !method.isEmpty() && !method.equals(NONE);
  }

  /** Records print all their parts; this one holds secrets. */
  @Override
  public String toString() {
    return "Security[tls=" + tls + ", method=" + method + ", user=" + user + "]";
  }
}
