package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.Secrets;
import io.tidegauge.worker.drivers.Json;
import io.tidegauge.worker.drivers.Security;
import io.tidegauge.worker.drivers.TokenSource;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.pulsar.client.impl.auth.AuthenticationTls;
import org.apache.pulsar.client.impl.auth.AuthenticationToken;
import org.apache.pulsar.client.impl.auth.oauth2.AuthenticationOAuth2;

/** The neutral settings of {@link Security} as those of the Pulsar client. */
final class Access {
  /** The values of auth.method, besides "none". */
  static final List<String> METHODS = List.of(Security.TOKEN, Security.TLS, Security.OAUTH2);

  static final String SERVICE_TLS = "pulsar+ssl://";
  static final String ADMIN_TLS = "https://";

  private Access() {}

  static Map<String, String> settings(Security security, boolean secured) {
    Map<String, String> all = new TreeMap<>();
    if (!security.caPath().isEmpty()) {
      all.put("tlsTrustCertsFilePath", security.caPath());
    }
    if (security.hasOwnCertificate()) {
      all.put("tlsCertificateFilePath", security.certificatePath());
      all.put("tlsKeyFilePath", security.keyPath());
    }
    if (secured) {
      // The client's own default is not to look at the name.
      all.put("tlsHostnameVerificationEnable", Boolean.toString(security.verifyHost()));
    }
    if (security.method().equals(Security.TOKEN)) {
      all.put("authPluginClassName", AuthenticationToken.class.getName());
      // A file is read again whenever the client has to say who it is.
      all.put(
          "authParams",
          security.tokens().isFile()
              ? Path.of(security.tokens().file()).toUri().toString()
              : "token:" + security.token());
    } else if (security.method().equals(Security.OAUTH2)) {
      all.put("authPluginClassName", AuthenticationOAuth2.class.getName());
      all.put("authParams", Json.write(parameters(security.tokens())));
    } else if (security.method().equals(Security.TLS)) {
      all.put("authPluginClassName", AuthenticationTls.class.getName());
      Map<String, String> files = new TreeMap<>();
      files.put("tlsCertFile", security.certificatePath());
      files.put("tlsKeyFile", security.keyPath());
      all.put("authParams", Json.write(files));
    }
    return all;
  }

  /**
   * Of a client that asks its issuer for tokens. It reads its secret from a file, or an address.
   */
  private static Map<String, String> parameters(TokenSource tokens) {
    String key =
        Json.write(
            new TreeMap<>(
                Map.of(
                    "type",
                    AuthenticationOAuth2.TYPE_CLIENT_CREDENTIALS,
                    "client_id",
                    tokens.clientId(),
                    "client_secret",
                    tokens.clientSecret(),
                    "issuer_url",
                    tokens.endpoint())));
    String encoded = Base64.getEncoder().encodeToString(key.getBytes(StandardCharsets.UTF_8));
    Secrets.remember(encoded);
    Map<String, String> all = new TreeMap<>();
    all.put("type", AuthenticationOAuth2.TYPE_CLIENT_CREDENTIALS);
    all.put("issuerUrl", tokens.endpoint());
    all.put("privateKey", "data:application/json;base64," + encoded);
    putIfSaid(all, "audience", tokens.audience());
    putIfSaid(all, "scope", tokens.scope());
    putIfSaid(all, "trustCertsFilePath", tokens.caPath());
    return all;
  }

  private static void putIfSaid(Map<String, String> all, String name, String value) {
    if (!value.isEmpty()) {
      all.put(name, value);
    }
  }
}
