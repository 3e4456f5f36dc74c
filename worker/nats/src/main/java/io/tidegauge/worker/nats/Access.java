package io.tidegauge.worker.nats;

import io.nats.client.AuthHandler;
import io.nats.client.NKey;
import io.nats.client.Options;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.Reach;
import io.tidegauge.worker.drivers.Security;
import io.tidegauge.worker.drivers.TlsFailure;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;

/** TLS and credentials for NATS's client. */
final class Access {
  /** A key pair of NATS's own kind, of which the client is given the seed, as a token is. */
  private static final String NKEY = "nkey";

  /** The values of auth.method, besides "none". */
  static final List<String> METHODS =
      List.of(Security.PASSWORD, Security.TOKEN, NKEY, Security.TLS);

  private static final int HANDSHAKE_MS_MAX = 5_000;

  private Access() {}

  static void apply(Connection connection, Options.Builder builder) throws DriverException {
    Security security = connection.security();
    switch (security.method()) {
      case Security.PASSWORD -> builder.userInfo(security.user(), security.password());
      case Security.TOKEN -> builder.token(secretOf(security).toCharArray());
      case NKEY -> builder.authHandler(new KeyPair(secretOf(security)));
      default -> {
        // Nobody is named, or the certificate says who we are.
      }
    }
    if (connection.isSecured()) {
      builder.sslContext(context(connection));
    }
  }

  private static SSLContext context(Connection connection) {
    SSLContext context = connection.tls().sslContext();
    return connection.security().verifyHost() ? HostChecks.of(context) : context;
  }

  /** What of TLS fails, which the client doesn't say; {@code otherwise} if nothing of it does. */
  static Exception handshakeFailure(Connection connection, Exception otherwise) {
    for (String server : connection.hostsAndPorts()) {
      try (Socket plain = new Socket()) {
        Reach.Address address = Reach.Address.of(server);
        plain.connect(new InetSocketAddress(address.host(), address.port()), HANDSHAKE_MS_MAX);
        plain.setSoTimeout(HANDSHAKE_MS_MAX);
        Greeting.readWord(plain.getInputStream());
        Socket secured =
            context(connection)
                .getSocketFactory()
                .createSocket(plain, address.host(), address.port(), /* autoClose= */ true);
        ((SSLSocket) secured).startHandshake();
      } catch (IOException e) {
        if (TlsFailure.words(e) != null) {
          return e;
        }
      }
    }
    return otherwise;
  }

  /** The token or seed, of a file if it is in one. */
  private static String secretOf(Security security) throws DriverException {
    return security.tokens().isFile() ? security.tokens().readToken() : security.token();
  }

  /** Signs what a server gives a client to sign. */
  private static final class KeyPair implements AuthHandler {
    private final NKey key;

    KeyPair(String seed) throws DriverException {
      try {
        key = NKey.fromSeed(seed.toCharArray());
        key.getPublicKey();
      } catch (GeneralSecurityException | IOException | RuntimeException e) {
        // What it says may hold a part of the seed.
        throw new DriverException(
            "NATS's auth.method nkey needs the seed of a user's key, which begins with SU", null);
      }
    }

    @Override
    public byte[] sign(byte[] nonce) {
      try {
        return key.sign(nonce);
      } catch (GeneralSecurityException | IOException e) {
        throw new IllegalStateException("a key can't sign", e);
      }
    }

    @Override
    public char[] getID() {
      try {
        return key.getPublicKey();
      } catch (GeneralSecurityException | IOException e) {
        throw new IllegalStateException("a key has no public part", e);
      }
    }

    @Override
    public char[] getJWT() {
      return null;
    }
  }
}
