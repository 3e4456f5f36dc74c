package io.tidegauge.worker.drivers;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * What TLS needs, read from the files that {@link Security} names: whom to trust, and our own
 * certificate.
 */
public final class TlsContext {
  private final List<X509Certificate> authorities;
  private final List<X509Certificate> chain;
  private final PrivateKey key;
  private final X509ExtendedTrustManager trustManager;
  private final KeyManager[] keyManagers;
  private final SSLContext context;

  private TlsContext(
      List<X509Certificate> authorities,
      List<X509Certificate> chain,
      PrivateKey key,
      boolean verifyHost)
      throws GeneralSecurityException, IOException {
    this.authorities = authorities;
    this.chain = chain;
    this.key = key;
    this.trustManager = verifyHost ? trust() : new AnyHost(trust());
    this.keyManagers = keys();
    this.context = SSLContext.getInstance("TLS");
    context.init(keyManagers, new TrustManager[] {trustManager}, /* random= */ null);
  }

  /**
   * Reads the files.
   *
   * @throws DriverException naming the setting and the file if one is not usable, or our own
   *     certificate has expired
   */
  public static TlsContext of(Security security) throws DriverException {
    List<X509Certificate> authorities =
        security.caPath().isEmpty()
            ? List.of()
            : Pem.certificates("tls.ca.path", security.caPath());
    List<X509Certificate> chain = List.of();
    PrivateKey key = null;
    if (security.hasOwnCertificate()) {
      String path = security.certificatePath();
      chain = Pem.certificates("tls.certificate.path", path);
      Instant until = chain.get(0).getNotAfter().toInstant();
      if (until.isBefore(Instant.now())) {
        throw new AccessException(
            "tls.certificate.path: the certificate in " + path + " expired on " + until, null);
      }
      String algorithm = chain.get(0).getPublicKey().getAlgorithm();
      key = Pem.privateKey("tls.key.path", security.keyPath(), algorithm);
    }
    try {
      return new TlsContext(authorities, chain, key, security.verifyHost());
    } catch (GeneralSecurityException | IOException e) {
      throw new DriverException("TLS can't be set up: " + e.getMessage(), e);
    }
  }

  /**
   * Trusts the certificates of a PEM file, and shows none.
   *
   * @param key the setting that names the file, for messages
   */
  public static SSLContext trusting(String key, String path) throws DriverException {
    try {
      return new TlsContext(Pem.certificates(key, path), List.of(), null, true).sslContext();
    } catch (GeneralSecurityException | IOException e) {
      throw new DriverException("TLS can't be set up: " + e.getMessage(), e);
    }
  }

  /** Fails if our own private key is one that a client that reads the file itself can't use. */
  public static void refuseSec1(Security security) throws DriverException {
    if (security.hasOwnCertificate()) {
      Pem.refuseSec1("tls.key.path", security.keyPath());
    }
  }

  /** For whatever opens sockets. It checks the server's certificate, and its host if asked to. */
  public SSLContext sslContext() {
    return context;
  }

  /** Whom to trust, for clients that make a context of their own. */
  public TrustManager trustManager() {
    return trustManager;
  }

  /** Our own certificate, for such clients; null for none. */
  public KeyManager keyManager() {
    return keyManagers.length == 0 ? null : keyManagers[0];
  }

  /** The authorities as PEM; empty for those that Java trusts. */
  public String authoritiesPem() throws DriverException {
    return pem(authorities);
  }

  /** Our own certificate and those that signed it as PEM; empty for none. */
  public String chainPem() throws DriverException {
    return pem(chain);
  }

  /** Our own private key as PEM, PKCS 8; empty for none. A secret. */
  public String keyPem() {
    return key == null ? "" : Pem.block("PRIVATE KEY", key.getEncoded());
  }

  private static String pem(List<X509Certificate> certificates) throws DriverException {
    StringBuilder text = new StringBuilder();
    for (X509Certificate one : certificates) {
      try {
        text.append(Pem.block("CERTIFICATE", one.getEncoded()));
      } catch (GeneralSecurityException e) {
        throw new DriverException("a certificate can't be used: " + e.getMessage(), e);
      }
    }
    return text.toString();
  }

  private X509ExtendedTrustManager trust() throws GeneralSecurityException, IOException {
    KeyStore store = null;
    if (!authorities.isEmpty()) {
      store = emptyStore();
      for (int i = 0; i < authorities.size(); i++) {
        store.setCertificateEntry("ca-" + i, authorities.get(i));
      }
    }
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    for (TrustManager one : factory.getTrustManagers()) {
      if (one instanceof X509ExtendedTrustManager found) {
        return found;
      }
    }
    throw new GeneralSecurityException("this Java has no trust manager for certificates");
  }

  private KeyManager[] keys() throws GeneralSecurityException, IOException {
    if (key == null) {
      return new KeyManager[0];
    }
    KeyStore store = emptyStore();
    store.setKeyEntry("own", key, new char[0], chain.toArray(X509Certificate[]::new));
    KeyManagerFactory factory =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(store, new char[0]);
    return factory.getKeyManagers();
  }

  private static KeyStore emptyStore() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  /** Checks everything but the host, whatever the client asks for. */
  private static final class AnyHost extends X509ExtendedTrustManager {
    private final X509ExtendedTrustManager trust;

    AnyHost(X509ExtendedTrustManager trust) {
      this.trust = trust;
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      trust.checkServerTrusted(chain, type);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      trust.checkServerTrusted(chain, type);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      trust.checkServerTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      trust.checkClientTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      trust.checkClientTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      trust.checkClientTrusted(chain, type);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return trust.getAcceptedIssuers();
    }
  }
}
