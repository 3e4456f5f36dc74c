package io.tidegauge.worker.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.Security;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AccessTest {
  private static final String VERIFY = "tlsHostnameVerificationEnable";

  private static Map<String, String> settings(String... given) throws Exception {
    Map<String, String> all = new java.util.HashMap<>();
    for (int i = 0; i < given.length; i += 2) {
      all.put(given[i], given[i + 1]);
    }
    return Access.settings(Security.of("Pulsar", all, Access.METHODS), /* secured= */ true);
  }

  /** The client's own default is not to look at the name. */
  @Test
  void theHostNameIsCheckedUnlessThatWasForbidden() throws Exception {
    assertThat(settings()).containsEntry(VERIFY, "true");
    assertThat(settings("tls.ca.path", "ca.crt")).containsEntry(VERIFY, "true");
    assertThat(settings("tls.ca.path", "ca.crt", "tls.verify.host", "false"))
        .containsEntry(VERIFY, "false");
  }

  /** It reads the file by itself, and knows those of PKCS 1 and 8 only. */
  @Test
  void aKeyThatTheClientCantReadIsRefused(@TempDir Path directory) throws Exception {
    Path key = directory.resolve("own.key");
    Map<String, String> given =
        Map.of(
            "serviceUrl",
            "pulsar+ssl://127.0.0.1:1",
            "adminUrl",
            "https://127.0.0.1:1",
            "tls.certificate.path",
            directory.resolve("own.crt").toString(),
            "tls.key.path",
            key.toString());
    Files.writeString(key, "-----BEGIN EC PRIVATE KEY-----\nAA==\n-----END EC PRIVATE KEY-----\n");
    assertThatThrownBy(() -> Connection.of(given))
        .isInstanceOf(DriverException.class)
        .hasMessageStartingWith(
            "tls.key.path: " + key + " holds a key of the form EC PRIVATE KEY; ")
        .hasMessageContaining("openssl pkcs8 -topk8 -nocrypt");
    // The next complaint is about the certificate.
    for (String form : List.of("PRIVATE KEY", "RSA PRIVATE KEY")) {
      Files.writeString(key, "-----BEGIN " + form + "-----\nAA==\n-----END " + form + "-----\n");
      assertThatThrownBy(() -> Connection.of(given)).hasMessageContaining("there is no file");
    }
  }
}
