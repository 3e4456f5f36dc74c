package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.drivers.Json;
import io.tidegauge.worker.drivers.Security;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.pulsar.client.impl.auth.AuthenticationTls;
import org.apache.pulsar.client.impl.auth.AuthenticationToken;

/** The neutral settings of {@link Security} as those of the Pulsar client. */
final class Access {
  /** The values of auth.method, besides "none". */
  static final List<String> METHODS = List.of(Security.TOKEN, Security.TLS);

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
      all.put("authParams", "token:" + security.token());
    } else if (security.method().equals(Security.TLS)) {
      all.put("authPluginClassName", AuthenticationTls.class.getName());
      Map<String, String> files = new TreeMap<>();
      files.put("tlsCertFile", security.certificatePath());
      files.put("tlsKeyFile", security.keyPath());
      all.put("authParams", Json.write(files));
    }
    return all;
  }
}
