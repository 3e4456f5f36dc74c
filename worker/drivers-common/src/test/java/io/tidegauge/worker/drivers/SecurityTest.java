package io.tidegauge.worker.drivers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Secrets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SecurityTest {
  private static final List<String> METHODS = List.of(Security.PLAIN, Security.TOKEN, Security.TLS);

  private static Security of(Map<String, String> settings) throws DriverException {
    return Security.of("Kafka", settings, METHODS);
  }

  private static void refused(Map<String, String> settings, String message) {
    assertThatThrownBy(() -> of(settings))
        .isInstanceOf(DriverException.class)
        .hasMessageContaining(message);
  }

  @Test
  void nothingSaidIsAsBefore() throws Exception {
    Security security = of(Map.of("bootstrap.servers", "x:1"));
    assertThat(security.tls()).isNull();
    assertThat(security.authenticates()).isFalse();
    assertThat(security.verifyHost()).isTrue();
  }

  @Test
  void filesForTlsMeanTls() throws Exception {
    assertThat(of(Map.of("tls.ca.path", "ca.crt")).tls()).isTrue();
    assertThat(of(Map.of("tls.ca.path", "ca.crt", "tls.enabled", "false")).tls()).isFalse();
  }

  @Test
  void whatContradictsItselfIsRefused() {
    refused(Map.of("auth.method", "scram"), "no auth.method \"scram\"; possible are none, plain");
    refused(Map.of("auth.method", "plain"), "auth.method plain needs auth.user");
    refused(Map.of("auth.method", "token"), "needs auth.token");
    refused(Map.of("auth.method", "tls"), "needs tls.certificate.path and tls.key.path");
    refused(Map.of("tls.key.path", "own.key"), "both, or neither");
    refused(Map.of("tls.enabled", "yes"), "tls.enabled must be true or false, not \"yes\"");
    refused(
        Map.of("tls.enabled", "false", "tls.certificate.path", "c", "tls.key.path", "k"),
        "can't show a certificate without TLS");
  }

  @Test
  void whereTokensComeFromShowsNoSecret() throws Exception {
    Map<String, String> settings =
        Map.of(
            "auth.method", "oauth2",
            "auth.token.endpoint", "https://h/t",
            "auth.client.id", "bench",
            "auth.client.secret", "sesame-of-the-client");
    Security security = Security.of("Pulsar", settings, List.of(Security.OAUTH2));
    assertThat(security.toString() + security.tokens()).doesNotContain("sesame");
    assertThat(Secrets.hide("with sesame-of-the-client")).isEqualTo("with (hidden)");
    assertThatThrownBy(
            () -> Security.of("Pulsar", Map.of("auth.method", "oauth2"), List.of(Security.OAUTH2)))
        .hasMessageContaining("Pulsar's auth.method oauth2 needs");
  }

  @Test
  void theSchemeOfAnAddressMustAgree() throws Exception {
    Security security = of(Map.of("tls.enabled", "true"));
    assertThatCode(() -> security.agreeWith("uri", true, "amqp://", "amqps://"))
        .doesNotThrowAnyException();
    assertThatThrownBy(() -> security.agreeWith("uri", false, "amqp://", "amqps://"))
        .hasMessageContaining("write amqps://");
  }

  @Test
  void secretsAreNotShown() throws Exception {
    Security security =
        of(Map.of("auth.method", "plain", "auth.user", "a", "auth.password", "sesame-open"));
    assertThat(security.toString()).doesNotContain("sesame");
    assertThat(Secrets.hide("login with sesame-open failed"))
        .isEqualTo("login with (hidden) failed");
    assertThat(Secrets.hide(null)).isNull();
  }
}
