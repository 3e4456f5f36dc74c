package io.tidegauge.worker.drivers;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.Secrets;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Where a client gets tokens that expire from: a file that others write anew, or an endpoint that
 * it asks for them (OAuth 2.0, client credentials). It asks again before one expires.
 *
 * @param file {@code auth.token.path}; empty for an endpoint
 * @param endpoint {@code auth.token.endpoint}: of tokens, or of an issuer who names it
 * @param clientId {@code auth.client.id}
 * @param clientSecret {@code auth.client.secret}
 * @param scope {@code auth.scope}; empty for the endpoint's own
 * @param audience {@code auth.audience}; empty for none
 * @param caPath {@code auth.endpoint.ca.path}: PEM certificates that the endpoint's must be signed
 *     by; empty for those that Java trusts
 */
public record TokenSource(
    String file,
    String endpoint,
    String clientId,
    String clientSecret,
    String scope,
    String audience,
    String caPath) {
  /** The names of the settings. */
  static final List<String> KEYS =
      List.of(
          "auth.token.path",
          "auth.token.endpoint",
          "auth.client.id",
          "auth.client.secret",
          "auth.scope",
          "auth.audience",
          "auth.endpoint.ca.path");

  static TokenSource of(Map<String, String> settings) {
    TokenSource source =
        new TokenSource(
            value(settings, "auth.token.path"),
            value(settings, "auth.token.endpoint"),
            value(settings, "auth.client.id"),
            settings.getOrDefault("auth.client.secret", ""),
            value(settings, "auth.scope"),
            value(settings, "auth.audience"),
            value(settings, "auth.endpoint.ca.path"));
    Secrets.remember(source.clientSecret);
    return source;
  }

  private static String value(Map<String, String> settings, String key) {
    return settings.getOrDefault(key, "").trim();
  }

  /** Fails unless {@code method} can get a token. */
  void check(String system, String method) throws DriverException {
    if (!file.isEmpty()) {
      readToken();
    } else if (endpoint.isEmpty() || clientId.isEmpty() || clientSecret.isEmpty()) {
      throw new DriverException(
          system
              + "'s auth.method "
              + method
              + " needs auth.token.path, or auth.token.endpoint, auth.client.id and"
              + " auth.client.secret");
    }
  }

  public boolean isFile() {
    return !file.isEmpty();
  }

  /** The token that the file holds now. */
  public String readToken() throws DriverException {
    try {
      String token = Files.readString(Path.of(file)).strip();
      if (token.isEmpty()) {
        throw new DriverException("auth.token.path: the file " + file + " is empty");
      }
      Secrets.remember(token);
      return token;
    } catch (IOException e) {
      throw new DriverException(
          "auth.token.path: the file " + file + " can't be read: " + ClientFailures.kind(e), e);
    }
  }

  /** Records print all their parts; this one holds a secret. */
  @Override
  public String toString() {
    return "TokenSource[file=" + file + ", endpoint=" + endpoint + ", clientId=" + clientId + "]";
  }
}
