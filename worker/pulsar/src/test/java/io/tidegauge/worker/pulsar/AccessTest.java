package io.tidegauge.worker.pulsar;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.api.Security;
import java.util.Map;
import org.junit.jupiter.api.Test;

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
}
