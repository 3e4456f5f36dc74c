package io.tidegauge.worker.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The neutral settings of access in the words of the Kafka client. */
class AccessTest {
  private static Connection connection(String... settings) throws Exception {
    Map<String, String> all = new HashMap<>(Map.of("bootstrap.servers", "x:1"));
    for (int at = 0; at < settings.length; at += 2) {
      all.put(settings[at], settings[at + 1]);
    }
    return Connection.of(all);
  }

  @Test
  void nothingSaidChangesNothing() throws Exception {
    assertThat(connection().settings()).containsOnlyKeys("bootstrap.servers");
  }

  @Test
  void aPasswordIsQuotedAsJaasWantsIt() throws Exception {
    Map<String, String> settings =
        connection("auth.method", "plain", "auth.user", "a\"b", "auth.password", "c\\d").settings();
    assertThat(settings)
        .containsEntry("security.protocol", "SASL_PLAINTEXT")
        .containsEntry("sasl.mechanism", "PLAIN");
    assertThat(settings.get("sasl.jaas.config"))
        .endsWith(" required username=\"a\\\"b\" password=\"c\\\\d\";");
  }

  @Test
  void theProtocolFollowsFromTlsAndMethod() throws Exception {
    assertThat(connection("tls.enabled", "true").settings())
        .containsEntry("security.protocol", "SSL")
        // The client's default is to check the broker's host name.
        .doesNotContainKey("ssl.endpoint.identification.algorithm");
    String[] scram = {"tls.enabled", "true", "auth.method", "scram-sha-256", "auth.user", "a"};
    assertThat(connection(scram).settings())
        .containsEntry("security.protocol", "SASL_SSL")
        .containsEntry("sasl.mechanism", "SCRAM-SHA-256");
    assertThat(connection("tls.enabled", "true", "tls.verify.host", "false").settings())
        .containsEntry("ssl.endpoint.identification.algorithm", "");
  }

  @Test
  void theClientsOwnSettingsWin() throws Exception {
    assertThat(connection("tls.enabled", "true", "security.protocol", "SASL_SSL").settings())
        .containsEntry("security.protocol", "SASL_SSL");
  }

  @Test
  void methodsOfOtherSystemsAreRefused() {
    assertThatThrownBy(() -> connection("auth.method", "token", "auth.token", "x"))
        .hasMessage(
            "Kafka has no auth.method \"token\"; possible are none, plain, scram-sha-256,"
                + " scram-sha-512, tls");
  }

  @Test
  void groupsOfTrialsAndProbesBelongToTheirTopic() {
    assertThat(ClientSettings.isGroupOf("t", "t-tg-1f-sub-0")).isTrue();
    assertThat(ClientSettings.isGroupOf("t", "t-t-probe")).isTrue();
    assertThat(ClientSettings.isGroupOf("t", "t-2-tg-1f-sub-0")).isFalse();
    assertThat(ClientSettings.isGroupOf("t", "t-billing")).isFalse();
  }
}
