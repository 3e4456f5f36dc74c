package io.tidegauge.worker.drivers;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;

/** Messages as Java words them; tests/integration/test_secure_*.py meets them on real servers. */
class TlsFailureTest {
  private static Throwable wrapped(Throwable cause) {
    SSLException outer = new SSLHandshakeException("PKIX path validation failed");
    outer.initCause(cause);
    return new IOException("failed", outer);
  }

  @Test
  void theInnermostCauseIsNamed() {
    assertThat(TlsFailure.words(wrapped(new CertificateExpiredException("NotAfter: 2020"))))
        .isEqualTo("the server's certificate has expired (NotAfter: 2020)");
    assertThat(
            TlsFailure.words(wrapped(new CertificateException("No name matching localhost found"))))
        .contains("for another host name (No name matching localhost found)");
    // As Java wraps it: the validator's failure alone would read as a missing authority.
    assertThat(
            TlsFailure.words(
                wrapped(
                    new CertPathValidatorException(
                        "validity check failed",
                        new CertificateExpiredException("NotAfter: 2020")))))
        .isEqualTo("the server's certificate has expired (NotAfter: 2020)");
  }

  @Test
  void aServerWithoutTlsIsNamedInBothWordings() {
    for (String said :
        new String[] {
          "Unsupported or unrecognized SSL message",
          "Unrecognized SSL message, plaintext connection?"
        }) {
      assertThat(TlsFailure.words(new SSLException(said)))
          .isEqualTo("the server speaks no TLS at this port");
    }
  }

  @Test
  void alertsAreAboutOurOwnCertificate() {
    assertThat(TlsFailure.words(new SSLException("Received fatal alert: certificate_required")))
        .contains("wants a client certificate");
    assertThat(TlsFailure.words(new SSLException("(unknown_ca) Received fatal alert: unknown_ca")))
        .contains("refused the client certificate");
    assertThat(TlsFailure.words(new SSLException("Received fatal alert: protocol_version")))
        .contains("broke the TLS handshake off (protocol_version)");
  }

  @Test
  void otherFailuresAreNoneOfTls() {
    assertThat(TlsFailure.words(new IOException("connection refused"))).isNull();
  }
}
