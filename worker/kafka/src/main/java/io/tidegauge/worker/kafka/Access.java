package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.Kerberos;
import io.tidegauge.worker.drivers.Security;
import io.tidegauge.worker.drivers.TlsContext;
import io.tidegauge.worker.drivers.TokenSource;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.config.internals.BrokerSecurityConfigs;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.security.oauthbearer.ClientJwtValidator;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule;
import org.apache.kafka.common.security.plain.PlainLoginModule;
import org.apache.kafka.common.security.scram.ScramLoginModule;

/** The neutral settings of {@link Security} as those of the Kafka client. */
final class Access {
  /** The values of auth.method, besides "none". */
  static final List<String> METHODS =
      List.of(
          Security.PLAIN,
          Security.SCRAM_SHA_256,
          Security.SCRAM_SHA_512,
          Security.TLS,
          Security.OAUTHBEARER,
          Security.KERBEROS,
          Security.AWS_MSK_IAM);

  /** Names of options that brokers of some clouds want beside a token: "logicalCluster=lkc-1". */
  private static final String EXTENSIONS = "auth.extensions";

  /** Of the files in which Amazon's library finds keys; empty for its default. */
  private static final String PROFILE = "auth.aws.profile";

  /** Connection settings beside those that drivers share. */
  static final List<String> KEYS = List.of(EXTENSIONS, PROFILE);

  private static final String PEM = "PEM";
  private static final String SERVICE = "kafka";
  private static final String KRB5_MODULE = "com.sun.security.auth.module.Krb5LoginModule";
  private static final String MSK_MODULE = "software.amazon.msk.auth.iam.IAMLoginModule";
  private static final String MSK_HANDLER = "software.amazon.msk.auth.iam.IAMClientCallbackHandler";

  private Access() {}

  /**
   * @param tls null without TLS
   * @param own settings of the connection, those of {@link #KEYS} among them
   */
  static Map<String, String> settings(Security security, TlsContext tls, Map<String, String> own)
      throws DriverException {
    Map<String, String> all = new TreeMap<>();
    boolean sasl = security.authenticates() && !security.method().equals(Security.TLS);
    if (tls == null && !sasl) {
      return all;
    }
    SecurityProtocol protocol =
        tls == null
            ? SecurityProtocol.SASL_PLAINTEXT
            : sasl ? SecurityProtocol.SASL_SSL : SecurityProtocol.SSL;
    all.put(CommonClientConfigs.SECURITY_PROTOCOL_CONFIG, protocol.name);
    if (tls != null) {
      addTls(all, security, tls);
    }
    if (sasl) {
      switch (security.method()) {
        case Security.OAUTHBEARER ->
            addTokens(all, security.tokens(), own.getOrDefault(EXTENSIONS, ""));
        case Security.KERBEROS -> addKerberos(all, security.kerberos());
        case Security.AWS_MSK_IAM -> addMskIam(all, security, own.getOrDefault(PROFILE, ""));
        default -> addPassword(all, security);
      }
    }
    return all;
  }

  /** As text, not as files: the client then takes every form of key that we read. */
  private static void addTls(Map<String, String> all, Security security, TlsContext tls)
      throws DriverException {
    if (!security.caPath().isEmpty()) {
      all.put(SslConfigs.SSL_TRUSTSTORE_TYPE_CONFIG, PEM);
      all.put(SslConfigs.SSL_TRUSTSTORE_CERTIFICATES_CONFIG, tls.authoritiesPem());
    }
    if (security.hasOwnCertificate()) {
      all.put(SslConfigs.SSL_KEYSTORE_TYPE_CONFIG, PEM);
      all.put(SslConfigs.SSL_KEYSTORE_CERTIFICATE_CHAIN_CONFIG, tls.chainPem());
      all.put(SslConfigs.SSL_KEYSTORE_KEY_CONFIG, tls.keyPem());
    }
    if (!security.verifyHost()) {
      all.put(SslConfigs.SSL_ENDPOINT_IDENTIFICATION_ALGORITHM_CONFIG, "");
    }
  }

  private static void addPassword(Map<String, String> all, Security security) {
    boolean plain = security.method().equals(Security.PLAIN);
    all.put(SaslConfigs.SASL_MECHANISM, security.method().toUpperCase(Locale.ROOT));
    Map<String, String> options = new LinkedHashMap<>();
    options.put("username", security.user());
    options.put("password", security.password());
    all.put(
        SaslConfigs.SASL_JAAS_CONFIG,
        jaas((plain ? PlainLoginModule.class : ScramLoginModule.class).getName(), options));
  }

  /** Java's own login module reads the key; the client renews what it got for it. */
  private static void addKerberos(Map<String, String> all, Kerberos kerberos) {
    all.put(SaslConfigs.SASL_MECHANISM, SaslConfigs.GSSAPI_MECHANISM);
    all.put(
        SaslConfigs.SASL_KERBEROS_SERVICE_NAME,
        kerberos.service().isEmpty() ? SERVICE : kerberos.service());
    if (!kerberos.config().isEmpty()) {
      System.setProperty("java.security.krb5.conf", kerberos.config());
    }
    Map<String, String> options = new TreeMap<>();
    options.put("useKeyTab", "true");
    options.put("storeKey", "true");
    options.put("useTicketCache", "false");
    options.put("keyTab", kerberos.keytab());
    options.put("principal", kerberos.principal());
    all.put(SaslConfigs.SASL_JAAS_CONFIG, jaas(KRB5_MODULE, options));
  }

  /** The library finds who we are by itself, and renews it, unless a key is given. */
  private static void addMskIam(Map<String, String> all, Security security, String profile)
      throws DriverException {
    try {
      Class.forName(MSK_MODULE);
    } catch (ClassNotFoundException e) {
      throw new DriverException(
          "Kafka's auth.method aws-msk-iam needs Amazon's library, which is not here: tidegauge"
              + " fetch aws-msk-iam",
          e);
    }
    if (!security.user().isEmpty()) {
      System.setProperty("aws.accessKeyId", security.user());
      System.setProperty("aws.secretAccessKey", security.password());
      if (security.token().isEmpty()) {
        System.clearProperty("aws.sessionToken");
      } else {
        System.setProperty("aws.sessionToken", security.token());
      }
    }
    Map<String, String> options = new TreeMap<>();
    if (!profile.isEmpty()) {
      options.put("awsProfileName", profile);
    }
    all.put(SaslConfigs.SASL_MECHANISM, "AWS_MSK_IAM");
    all.put(SaslConfigs.SASL_JAAS_CONFIG, jaas(MSK_MODULE, options));
    all.put(SaslConfigs.SASL_CLIENT_CALLBACK_HANDLER_CLASS, MSK_HANDLER);
  }

  /** The client asks for tokens itself, and again before one expires. */
  private static void addTokens(Map<String, String> all, TokenSource tokens, String extensions) {
    all.put(SaslConfigs.SASL_MECHANISM, OAuthBearerLoginModule.OAUTHBEARER_MECHANISM);
    all.put(
        SaslConfigs.SASL_LOGIN_CALLBACK_HANDLER_CLASS,
        OAuthBearerLoginCallbackHandler.class.getName());
    // The default one needs a library more, which brokers verify signatures with.
    all.put(SaslConfigs.SASL_OAUTHBEARER_JWT_VALIDATOR_CLASS, ClientJwtValidator.class.getName());
    Map<String, String> options = new TreeMap<>();
    for (String extension : extensions.isEmpty() ? new String[0] : extensions.split(",")) {
      String[] parts = extension.split("=", 2);
      options.put("extension_" + parts[0].trim(), parts.length > 1 ? parts[1].trim() : "");
    }
    if (tokens.isFile()) {
      String file = Path.of(tokens.file()).toAbsolutePath().toString();
      allow(BrokerSecurityConfigs.ALLOWED_SASL_OAUTHBEARER_FILES_CONFIG, file);
      String url = Path.of(file).toUri().toString();
      allow(BrokerSecurityConfigs.ALLOWED_SASL_OAUTHBEARER_URLS_CONFIG, url);
      all.put(SaslConfigs.SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL, url);
    } else {
      allow(BrokerSecurityConfigs.ALLOWED_SASL_OAUTHBEARER_URLS_CONFIG, tokens.endpoint());
      all.put(SaslConfigs.SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL, tokens.endpoint());
      all.put(SaslConfigs.SASL_OAUTHBEARER_CLIENT_CREDENTIALS_CLIENT_ID, tokens.clientId());
      all.put(SaslConfigs.SASL_OAUTHBEARER_CLIENT_CREDENTIALS_CLIENT_SECRET, tokens.clientSecret());
      if (!tokens.scope().isEmpty()) {
        all.put(SaslConfigs.SASL_OAUTHBEARER_SCOPE, tokens.scope());
      }
      if (!tokens.caPath().isEmpty()) {
        // Where the client looks for the endpoint's authority: not among its own settings.
        options.put(SslConfigs.SSL_TRUSTSTORE_TYPE_CONFIG, PEM);
        options.put(SslConfigs.SSL_TRUSTSTORE_LOCATION_CONFIG, tokens.caPath());
      }
    }
    all.put(SaslConfigs.SASL_JAAS_CONFIG, jaas(OAuthBearerLoginModule.class.getName(), options));
  }

  /** Adds a value to a system property without which the client asks no endpoint, reads no file. */
  private static synchronized void allow(String property, String value) {
    String before = System.getProperty(property, "");
    if (!List.of(before.split(",")).contains(value)) {
      System.setProperty(property, before.isEmpty() ? value : before + "," + value);
    }
  }

  private static String jaas(String module, Map<String, String> options) {
    StringBuilder text = new StringBuilder(module).append(" required");
    options.forEach(
        (name, value) -> text.append(' ').append(name).append('=').append(quoted(value)));
    return text.append(';').toString();
  }

  /** A string of a JAAS configuration. */
  private static String quoted(String text) {
    return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
  }
}
