package io.tidegauge.worker.nats;

import io.nats.client.Options;
import io.tidegauge.worker.drivers.Security;

/** TLS and credentials for NATS's client. */
final class Access {
  private Access() {}

  static void apply(Connection connection, Options.Builder builder) {
    Security security = connection.security();
    if (security.method().equals(Security.PASSWORD)) {
      builder.userInfo(security.user(), security.password());
    }
    if (security.method().equals(Security.TOKEN)) {
      builder.token(security.token().toCharArray());
    }
    if (connection.isSecured()) {
      builder.sslContext(connection.tls().sslContext());
    }
  }
}
