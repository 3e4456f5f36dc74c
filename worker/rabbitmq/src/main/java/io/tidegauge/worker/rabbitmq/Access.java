package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DefaultSaslConfig;
import com.rabbitmq.client.SocketConfigurators;
import com.rabbitmq.client.impl.CredentialsRefreshService;
import com.rabbitmq.client.impl.DefaultCredentialsRefreshService;
import com.rabbitmq.stream.EnvironmentBuilder;
import com.rabbitmq.stream.sasl.DefaultSaslConfiguration;
import io.netty.handler.ssl.SslContextBuilder;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.Security;
import io.tidegauge.worker.drivers.TokenSource;
import java.net.URI;
import java.util.List;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;

/**
 * TLS and credentials for RabbitMQ's clients. Left to itself the AMQP client trusts every
 * certificate when its address begins with amqps.
 */
final class Access {
  /**
   * The values of auth.method, besides "none". A password is sent by SASL PLAIN: both words mean
   * it.
   */
  static final List<String> METHODS =
      List.of(Security.PASSWORD, Security.PLAIN, Security.TLS, Security.EXTERNAL, Security.OAUTH2);

  static final String AMQP_TLS = "amqps";
  static final String STREAM_TLS = "rabbitmq-stream+tls";
  static final String MANAGEMENT_TLS = "https";
  private static final String CHECK_HOST = "HTTPS";

  /** Gives the server a new token on each connection before the old one expires. Daemon threads. */
  private static final CredentialsRefreshService RENEWAL =
      new DefaultCredentialsRefreshService.DefaultCredentialsRefreshServiceBuilder()
          .scheduler(new ScheduledThreadPoolExecutor(1, Access::daemon))
          .refreshDelayStrategy(DefaultCredentialsRefreshService.ratioRefreshDelayStrategy(0.8))
          .build();

  private Access() {}

  /**
   * Whether every address of a setting asks for TLS; they must all be alike, as tls.enabled says.
   */
  static boolean secured(
      Security security, String key, List<URI> uris, String plain, String secured)
      throws DriverException {
    boolean all = !uris.isEmpty() && uris.stream().allMatch(one -> one.getScheme().equals(secured));
    if (!all && uris.stream().anyMatch(one -> one.getScheme().equals(secured))) {
      throw new DriverException(
          "RabbitMQ's " + key + " has addresses with and without TLS: make them alike");
    }
    if (!uris.isEmpty()) {
      security.agreeWith(key, all, plain + "://", secured + "://");
    }
    return all;
  }

  static void apply(Connection connection, ConnectionFactory factory) {
    if (connection.tokens() == null) {
      factory.setUsername(connection.user());
      factory.setPassword(connection.password());
    } else {
      factory.setCredentialsProvider(connection.tokens());
      factory.setCredentialsRefreshService(RENEWAL);
    }
    if (connection.security().byCertificate()) {
      factory.setSaslConfig(DefaultSaslConfig.EXTERNAL);
    }
    if (connection.isSecured()) {
      factory.useSslProtocol(connection.tls().sslContext());
      if (connection.security().verifyHost()) {
        factory.setSocketConfigurator(
            factory
                .getSocketConfigurator()
                .andThen(SocketConfigurators.enableHostnameVerification()));
      }
    }
  }

  static void apply(Connection connection, EnvironmentBuilder builder) throws DriverException {
    if (!connection.security().user().isEmpty()) {
      builder.username(connection.user()).password(connection.password());
    }
    if (connection.tokens() != null) {
      TokenSource source = connection.security().tokens();
      EnvironmentBuilder.OAuth2Configuration tokens =
          builder
              .oauth2()
              .tokenEndpointUri(source.endpoint())
              .clientId(source.clientId())
              .clientSecret(source.clientSecret())
              .grantType(Tokens.GRANT);
      Tokens.parameters(source).forEach(tokens::parameter);
      SSLContext context = Tokens.sslContext(source);
      if (context != null) {
        tokens.sslContext(context);
      }
    }
    if (connection.security().byCertificate()) {
      builder.saslConfiguration(DefaultSaslConfiguration.EXTERNAL);
    }
    if (!connection.streamUris().get(0).startsWith(STREAM_TLS)) {
      return;
    }
    SslContextBuilder context =
        SslContextBuilder.forClient()
            .trustManager(connection.tls().trustManager())
            .endpointIdentificationAlgorithm(
                connection.security().verifyHost() ? CHECK_HOST : null);
    if (connection.tls().keyManager() != null) {
      context.keyManager(connection.tls().keyManager());
    }
    try {
      builder.tls().sslContext(context.build());
    } catch (SSLException e) {
      throw Failures.describe("set up TLS for streams", e);
    }
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "tg-tokens");
    thread.setDaemon(true);
    return thread;
  }
}
