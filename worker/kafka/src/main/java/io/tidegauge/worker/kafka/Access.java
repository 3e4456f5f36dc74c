package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.Security;
import io.tidegauge.worker.drivers.TlsContext;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.security.plain.PlainLoginModule;
import org.apache.kafka.common.security.scram.ScramLoginModule;

/** The neutral settings of {@link Security} as those of the Kafka client. */
final class Access {
  /** The values of auth.method, besides "none". */
  static final List<String> METHODS =
      List.of(Security.PLAIN, Security.SCRAM_SHA_256, Security.SCRAM_SHA_512, Security.TLS);

  private static final String PEM = "PEM";

  private Access() {}

  /**
   * @param tls null without TLS
   */
  static Map<String, String> settings(Security security, TlsContext tls) throws DriverException {
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
      boolean plain = security.method().equals(Security.PLAIN);
      all.put(SaslConfigs.SASL_MECHANISM, security.method().toUpperCase(Locale.ROOT));
      all.put(
          SaslConfigs.SASL_JAAS_CONFIG,
          (plain ? PlainLoginModule.class : ScramLoginModule.class).getName()
              + " required username="
              + quoted(security.user())
              + " password="
              + quoted(security.password())
              + ";");
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

  /** A string of a JAAS configuration. */
  private static String quoted(String text) {
    return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
  }
}
