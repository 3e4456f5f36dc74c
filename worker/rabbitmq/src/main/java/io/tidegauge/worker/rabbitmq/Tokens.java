package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.impl.RefreshProtectedCredentialsProvider;
import com.rabbitmq.stream.oauth2.GsonTokenParser;
import com.rabbitmq.stream.oauth2.HttpTokenRequester;
import com.rabbitmq.stream.oauth2.Token;
import com.rabbitmq.stream.oauth2.TokenRequester;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.TlsContext;
import io.tidegauge.worker.drivers.TokenSource;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.TreeMap;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;

/**
 * The tokens of AMQP connections and of the management API, which the stream client's requester
 * gets: the AMQP client's own needs a library more to read the answer. Streams get their own.
 */
final class Tokens extends RefreshProtectedCredentialsProvider<Token> {
  static final String GRANT = "client_credentials";
  private final TokenRequester requester;

  private Tokens(TokenRequester requester) {
    this.requester = requester;
  }

  static Tokens of(TokenSource source) throws DriverException {
    SSLContext context = sslContext(source);
    return new Tokens(
        new HttpTokenRequester(
            source.endpoint(),
            source.clientId(),
            source.clientSecret(),
            GRANT,
            parameters(source),
            connection -> trust(connection, context),
            null,
            new GsonTokenParser()));
  }

  /** What a client says beside its secret when it asks for a token. */
  static Map<String, String> parameters(TokenSource source) {
    Map<String, String> all = new TreeMap<>();
    if (!source.scope().isEmpty()) {
      all.put("scope", source.scope());
    }
    if (!source.audience().isEmpty()) {
      all.put("audience", source.audience());
    }
    return all;
  }

  /** Whom to trust as the endpoint; null for those that Java trusts. */
  static SSLContext sslContext(TokenSource source) throws DriverException {
    return source.caPath().isEmpty()
        ? null
        : TlsContext.trusting("auth.endpoint.ca.path", source.caPath());
  }

  private static void trust(HttpURLConnection connection, SSLContext context) {
    if (context != null && connection instanceof HttpsURLConnection secured) {
      secured.setSSLSocketFactory(context.getSocketFactory());
    }
  }

  @Override
  protected Token retrieveToken() {
    return requester.request();
  }

  @Override
  protected String usernameFromToken(Token token) {
    // The server takes the name from the token.
    return "";
  }

  @Override
  protected String passwordFromToken(Token token) {
    return token.value();
  }

  @Override
  protected Duration timeBeforeExpiration(Token token) {
    return Duration.between(Instant.now(), token.expirationTime());
  }
}
