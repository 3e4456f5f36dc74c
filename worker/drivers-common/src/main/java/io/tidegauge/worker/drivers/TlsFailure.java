package io.tidegauge.worker.drivers;

import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.util.Locale;
import javax.net.ssl.SSLException;

/** What went wrong with TLS, in words for the user. Java's own name the class of the check. */
public final class TlsFailure {
  private static final int DEPTH_MAX = 20;
  private static final String ALERT = "Received fatal alert: ";

  private TlsFailure() {}

  /** The cause and what to do about it; null if TLS has no part in the failure. */
  public static String words(Throwable failure) {
    String found = null;
    Throwable one = failure;
    for (int depth = 0; one != null && depth < DEPTH_MAX; depth++) {
      String words = wordsOfOne(one);
      // The innermost says most.
      found = words == null ? found : words;
      one = one.getCause();
    }
    return found;
  }

  private static String wordsOfOne(Throwable one) {
    String message = one.getMessage() == null ? "" : one.getMessage();
    if (one instanceof CertificateExpiredException) {
      return "the server's certificate has expired (" + message + ")";
    }
    if (one instanceof CertificateNotYetValidException) {
      return "the server's certificate is not valid yet (" + message + ")";
    }
    if (message.contains("unable to find valid certification path")
        || one instanceof CertPathValidatorException
        || message.contains("No trusted certificate found")) {
      return "the server's certificate is not trusted: tls.ca.path must name the authority that"
          + " signed it";
    }
    if (message.contains("No subject alternative")
        || message.contains("No name matching")
        || message.contains("subjectAltName")) {
      return "the server's certificate is for another host name ("
          + message
          + "); tls.verify.host: false accepts it";
    }
    if (message.contains("nrecognized SSL message") || message.contains("not an SSL/TLS record")) {
      return "the server speaks no TLS at this port";
    }
    if (message.contains(ALERT)) {
      String alert = message.substring(message.indexOf(ALERT) + ALERT.length());
      return alert(alert.trim().toLowerCase(Locale.ROOT).replace(' ', '_'));
    }
    return one instanceof SSLException && one.getCause() == null
        ? "the TLS handshake failed: " + message
        : null;
  }

  /** What a server says before it closes the connection (RFC 8446, section 6). */
  private static String alert(String alert) {
    if (alert.contains("certificate_required")) {
      return "the server wants a client certificate";
    }
    if (alert.contains("certificate_expired")) {
      return "the server says that the client certificate has expired";
    }
    if (alert.contains("certificate") || alert.contains("unknown_ca")) {
      return "the server refused the client certificate, or wants one and got none (" + alert + ")";
    }
    return "the server broke the TLS handshake off (" + alert + ")";
  }
}
