package io.tidegauge.worker.nats;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.security.KeyManagementException;
import java.security.SecureRandom;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;

/**
 * A context whose sockets check that a server's certificate names its host. The client takes a
 * context and asks for no such check.
 */
final class HostChecks extends SSLContext {
  private HostChecks(SSLContext context) {
    super(new Spi(context), context.getProvider(), context.getProtocol());
  }

  static SSLContext of(SSLContext context) {
    return new HostChecks(context);
  }

  private static final class Spi extends SSLContextSpi {
    private final SSLContext context;

    Spi(SSLContext context) {
      this.context = context;
    }

    @Override
    protected void engineInit(KeyManager[] keys, TrustManager[] trust, SecureRandom random)
        throws KeyManagementException {
      context.init(keys, trust, random);
    }

    @Override
    protected SSLSocketFactory engineGetSocketFactory() {
      return new Sockets(context.getSocketFactory());
    }

    @Override
    protected SSLServerSocketFactory engineGetServerSocketFactory() {
      return context.getServerSocketFactory();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine() {
      return context.createSSLEngine();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine(String host, int port) {
      return context.createSSLEngine(host, port);
    }

    @Override
    protected SSLSessionContext engineGetServerSessionContext() {
      return context.getServerSessionContext();
    }

    @Override
    protected SSLSessionContext engineGetClientSessionContext() {
      return context.getClientSessionContext();
    }
  }

  private static final class Sockets extends SSLSocketFactory {
    private final SSLSocketFactory sockets;

    Sockets(SSLSocketFactory sockets) {
      this.sockets = sockets;
    }

    private static Socket checking(Socket made) {
      if (made instanceof SSLSocket socket) {
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
      }
      return made;
    }

    @Override
    public Socket createSocket(Socket plain, String host, int port, boolean autoClose)
        throws IOException {
      return checking(sockets.createSocket(plain, host, port, autoClose));
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
      return checking(sockets.createSocket(host, port));
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort)
        throws IOException {
      return checking(sockets.createSocket(host, port, local, localPort));
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
      return checking(sockets.createSocket(host, port));
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort)
        throws IOException {
      return checking(sockets.createSocket(host, port, local, localPort));
    }

    @Override
    public String[] getDefaultCipherSuites() {
      return sockets.getDefaultCipherSuites();
    }

    @Override
    public String[] getSupportedCipherSuites() {
      return sockets.getSupportedCipherSuites();
    }
  }
}
