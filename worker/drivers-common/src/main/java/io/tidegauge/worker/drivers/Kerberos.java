package io.tidegauge.worker.drivers;

import io.tidegauge.worker.api.DriverException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Who a client is by Kerberos, with a key in a file.
 *
 * @param principal {@code auth.principal}: "bench@EXAMPLE.COM"
 * @param keytab {@code auth.keytab}
 * @param config {@code auth.krb5}: where the realm's servers are; empty for the machine's own
 * @param service {@code auth.service}: the first part of the servers' principals
 */
public record Kerberos(String principal, String keytab, String config, String service) {
  /** The names of the settings. */
  static final List<String> KEYS =
      List.of("auth.principal", "auth.keytab", "auth.krb5", "auth.service");

  static Kerberos of(Map<String, String> settings) {
    return new Kerberos(
        settings.getOrDefault("auth.principal", "").trim(),
        settings.getOrDefault("auth.keytab", "").trim(),
        settings.getOrDefault("auth.krb5", "").trim(),
        settings.getOrDefault("auth.service", "").trim());
  }

  /** Fails unless it says who we are and where the key is. */
  void check(String system) throws DriverException {
    if (principal.isEmpty() || keytab.isEmpty()) {
      throw new DriverException(
          system + "'s auth.method kerberos needs auth.principal and auth.keytab");
    }
    // Java's own words would be that it found no key.
    if (!Files.isReadable(Path.of(keytab))) {
      throw new DriverException("auth.keytab: there is no file " + keytab + " to be read");
    }
  }
}
