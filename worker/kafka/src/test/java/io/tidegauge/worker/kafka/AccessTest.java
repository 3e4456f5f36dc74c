package io.tidegauge.worker.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
                + " scram-sha-512, tls, oauthbearer, kerberos, aws-msk-iam");
  }

  @Test
  void tokensComeFromAnEndpoint() throws Exception {
    Map<String, String> settings =
        connection(
                "auth.method", "oauthbearer",
                "auth.token.endpoint", "https://h/token",
                "auth.client.id", "bench",
                "auth.client.secret", "open-sesame",
                "auth.scope", "a b",
                "auth.endpoint.ca.path", "/ca.pem",
                "auth.extensions", "logicalCluster=lkc-1")
            .settings();
    assertThat(settings)
        .containsEntry("sasl.mechanism", "OAUTHBEARER")
        .containsEntry("sasl.oauthbearer.token.endpoint.url", "https://h/token")
        .containsEntry("sasl.oauthbearer.client.credentials.client.id", "bench")
        .containsEntry("sasl.oauthbearer.client.credentials.client.secret", "open-sesame")
        .containsEntry("sasl.oauthbearer.scope", "a b")
        .doesNotContainKey("auth.extensions");
    assertThat(settings.get("sasl.jaas.config"))
        .endsWith(
            "Module required extension_logicalCluster=\"lkc-1\""
                + " ssl.truststore.location=\"/ca.pem\" ssl.truststore.type=\"PEM\";");
    assertThat(System.getProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls"))
        .contains("https://h/token");
  }

  @Test
  void aTokenInAFileStaysThere(@TempDir Path directory) throws Exception {
    Path file = Files.writeString(directory.resolve("token"), "a.b.c\n");
    Map<String, String> settings =
        connection("auth.method", "oauthbearer", "auth.token.path", file.toString()).settings();
    assertThat(settings)
        .containsEntry("sasl.oauthbearer.token.endpoint.url", file.toUri().toString());
    assertThat(settings.toString()).doesNotContain("a.b.c");
    Files.delete(file);
    assertThatThrownBy(
            () -> connection("auth.method", "oauthbearer", "auth.token.path", file.toString()))
        .hasMessage("auth.token.path: the file " + file + " can't be read: NoSuchFile");
    assertThatThrownBy(() -> connection("auth.method", "oauthbearer"))
        .hasMessageContaining("needs auth.token.path, or auth.token.endpoint");
  }

  @Test
  void kerberosNeedsAKey(@TempDir Path directory) throws Exception {
    Path keytab = Files.writeString(directory.resolve("b.keytab"), "key");
    String[] given = {
      "auth.method", "kerberos", "auth.principal", "b@R", "auth.keytab", keytab.toString()
    };
    assertThat(connection(given).settings())
        .containsEntry("sasl.mechanism", "GSSAPI")
        .containsEntry("sasl.kerberos.service.name", "kafka")
        .containsEntry(
            "sasl.jaas.config",
            "com.sun.security.auth.module.Krb5LoginModule required keyTab=\""
                + keytab
                + "\" principal=\"b@R\" storeKey=\"true\" useKeyTab=\"true\""
                + " useTicketCache=\"false\";");
    Files.delete(keytab);
    assertThatThrownBy(() -> connection(given))
        .hasMessage("auth.keytab: there is no file " + keytab + " to be read");
  }

  @Test
  void amazonsLibraryIsAskedForWhereItIsMissing() {
    assertThatThrownBy(() -> connection("auth.method", "aws-msk-iam"))
        .hasMessageContaining("tidegauge fetch aws-msk-iam");
  }

  @Test
  void groupsOfTrialsAndProbesBelongToTheirTopic() {
    assertThat(ClientSettings.isGroupOf("t", "t-tg-1f-sub-0")).isTrue();
    assertThat(ClientSettings.isGroupOf("t", "t-t-probe")).isTrue();
    assertThat(ClientSettings.isGroupOf("t", "t-2-tg-1f-sub-0")).isFalse();
    assertThat(ClientSettings.isGroupOf("t", "t-billing")).isFalse();
  }
}
