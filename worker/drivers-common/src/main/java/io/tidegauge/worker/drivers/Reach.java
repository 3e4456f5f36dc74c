package io.tidegauge.worker.drivers;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/**
 * Finds out in a moment why a server can't be reached: the clients would try for half a minute and
 * then only say that there was no answer. Used by one thread at a time.
 */
public final class Reach {
  /** A word that the server answers, whoever we are. */
  public interface Greeting {
    /**
     * Says it and takes the answer.
     *
     * @throws AccessException if the server lets nobody in without credentials
     * @throws IOException if the connection breaks, or nothing comes
     */
    void exchange(InputStream in, OutputStream out) throws IOException, AccessException;
  }

  /** An address. {@code host} without brackets. */
  public record Address(String host, int port) {
    private static final int PORT_MAX = 65_535;

    /** Of the form host:port. */
    public static Address of(String text) throws IOException {
      int colon = text.lastIndexOf(':');
      String port = text.substring(colon + 1);
      if (colon < 1 || !port.matches("\\d{1,5}") || Integer.parseInt(port) > PORT_MAX) {
        throw new IOException("not of the form host:port");
      }
      String host = text.substring(0, colon).replaceFirst("^.*://", "").replaceAll("[\\[\\]]", "");
      return new Address(host, Integer.parseInt(port));
    }

    @Override
    public String toString() {
      return host + ":" + port;
    }
  }

  private static final int CONNECT_MS_MAX = 2_000;
  private static final int ANSWER_MS_MAX = 2_000;

  /** Of a server that may be busy: a client would wait three times as long, and not know why. */
  private static final int GREETING_MS_MAX = 10_000;

  /** Types of records (RFC 8446, section 5.1). */
  private static final int TLS_ALERT = 21;

  private static final int TLS_HANDSHAKE = 22;

  private final String system;
  private final TlsContext tls;
  private final boolean verifyHost;
  private final Greeting greeting;

  /** Addresses that have answered our greeting. */
  private final Set<String> greeted = new HashSet<>();

  /**
   * @param system for messages: "Kafka"
   * @param tls null for plain connections
   */
  public Reach(String system, TlsContext tls, boolean verifyHost, Greeting greeting) {
    this.system = system;
    this.tls = tls;
    this.verifyHost = verifyHost;
    this.greeting = greeting;
  }

  /**
   * Fails unless one of the servers can be used.
   *
   * @param servers each of the form host:port
   */
  public void check(List<String> servers) throws DriverException {
    List<String> failures = new ArrayList<>();
    IOException first = null;
    AccessException refused = null;
    for (String server : servers) {
      try {
        tryOne(Address.of(server));
        return;
      } catch (AccessException e) {
        refused = refused == null ? e : refused;
      } catch (IOException e) {
        failures.add(server + " (" + e.getMessage() + ")");
        first = first == null ? e : first;
      }
    }
    if (refused != null) {
      throw refused;
    }
    throw new DriverException(
        "No " + system + " broker reachable at " + String.join(", ", failures), first);
  }

  private void tryOne(Address address) throws IOException, AccessException {
    try (Socket socket = connected(address)) {
      if (greeted.contains(address.toString())) {
        return;
      }
      if (tls == null) {
        greetInPlainText(socket, address);
      } else {
        greetInTls(socket, address);
      }
      greeted.add(address.toString());
    }
  }

  static Socket connected(Address address) throws IOException {
    return connected(new Socket(), address);
  }

  private static Socket connected(Socket socket, Address address) throws IOException {
    InetSocketAddress where = new InetSocketAddress(address.host(), address.port());
    if (where.isUnresolved()) {
      throw new IOException("unknown host");
    }
    try {
      socket.connect(where, CONNECT_MS_MAX);
      socket.setSoTimeout(ANSWER_MS_MAX);
      return socket;
    } catch (IOException e) {
      socket.close();
      throw new IOException(
          e.getMessage() == null ? "cannot connect" : e.getMessage().toLowerCase(Locale.ROOT), e);
    }
  }

  /**
   * A server that wants TLS ends the connection, or says so by an alert, at the first plain word.
   */
  private void greetInPlainText(Socket socket, Address address)
      throws IOException, AccessException {
    try {
      socket.setSoTimeout(GREETING_MS_MAX);
      greeting.exchange(socket.getInputStream(), socket.getOutputStream());
    } catch (SocketTimeoutException e) {
      throw saysNothing(e);
    } catch (IOException e) {
      if (speaksTls(address)) {
        throw wantsTls(address, e);
      }
      // It may be starting or stopping: the client tries again.
    }
  }

  private static IOException saysNothing(SocketTimeoutException cause) {
    return new IOException(
        "it accepts connections and says nothing for " + GREETING_MS_MAX / 1000 + " s", cause);
  }

  private AccessException wantsTls(Address address, IOException cause) {
    return new AccessException(system + " at " + address + " wants TLS", cause);
  }

  private void greetInTls(Socket plain, Address address) throws IOException, AccessException {
    plain.setSoTimeout(GREETING_MS_MAX);
    try (SSLSocket socket = handshaken(plain, address)) {
      // With TLS 1.3 the server judges our certificate only after the handshake.
      greeting.exchange(socket.getInputStream(), socket.getOutputStream());
    } catch (SocketTimeoutException e) {
      // It may wait for a plain word.
      if (answersInPlainText(address)) {
        throw withoutTls(address, e);
      }
      throw saysNothing(e);
    } catch (IOException e) {
      String words = TlsFailure.words(e);
      if (words == null) {
        words = lateAlert(address);
      }
      if (words == null && answersInPlainText(address)) {
        throw withoutTls(address, e);
      }
      if (words == null) {
        throw new IOException(e.getMessage() == null ? "the connection broke" : e.getMessage(), e);
      }
      throw tlsFailed(address, words, e);
    }
  }

  private AccessException withoutTls(Address address, IOException cause) {
    return tlsFailed(address, "the server speaks no TLS at this port", cause);
  }

  private AccessException tlsFailed(Address address, String words, IOException cause) {
    return new AccessException(
        "TLS with " + system + " at " + address + " failed: " + words, cause);
  }

  private SSLSocket handshaken(Socket plain, Address address) throws IOException {
    SSLSocket socket =
        (SSLSocket)
            tls.sslContext()
                .getSocketFactory()
                .createSocket(plain, address.host(), address.port(), true);
    SSLParameters parameters = socket.getSSLParameters();
    if (verifyHost) {
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
    }
    socket.setSSLParameters(parameters);
    socket.startHandshake();
    return socket;
  }

  /**
   * What a server says that closed the connection while we were still writing: whoever writes then,
   * be it the end of the handshake, sees only a broken pipe, and the server's alert is lost.
   * Whoever only listens gets it.
   */
  private String lateAlert(Address address) {
    try (Socket plain = connected(new DeafSocket(), address);
        SSLSocket socket = handshaken(plain, address)) {
      socket.getInputStream().read();
      return null;
    } catch (IOException e) {
      return TlsFailure.words(e);
    }
  }

  private boolean answersInPlainText(Address address) {
    try (Socket socket = connected(address)) {
      greeting.exchange(socket.getInputStream(), socket.getOutputStream());
      return true;
    } catch (AccessException e) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /** Whether a server answers the first message of a TLS handshake in kind. */
  public static boolean speaksTls(Address address) {
    try (Socket socket = connected(address)) {
      SSLEngine engine = SSLContext.getDefault().createSSLEngine(address.host(), address.port());
      engine.setUseClientMode(true);
      ByteBuffer hello = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
      engine.wrap(ByteBuffer.allocate(0), hello);
      socket.getOutputStream().write(hello.array(), 0, hello.position());
      int first = socket.getInputStream().read();
      return first == TLS_HANDSHAKE || first == TLS_ALERT;
    } catch (IOException | GeneralSecurityException e) {
      return false;
    }
  }
}
