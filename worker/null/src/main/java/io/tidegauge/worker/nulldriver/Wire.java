package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.RefusedException;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * A connection to a {@link NullServer}, from either side. It begins with what is wanted, as a byte
 * and what belongs to it, and the server's answer: empty, or why not. Then:
 *
 * <ul>
 *   <li>{@link #PRODUCE}: the client sends records, the server how many it has stored so far (a
 *       long), now and then
 *   <li>{@link #CONSUME}: the server sends records until the client sends any byte, then the record
 *       {@link #END}; or {@link #EJECTED}, and the client may ask again
 * </ul>
 *
 * A record is its length, its partition (ints) and its value.
 */
final class Wire implements AutoCloseable {
  /** Name, partitions and {@link Ejections} of a topic, which may exist. */
  static final int CREATE = 1;

  /** Name of a topic, which may not exist. */
  static final int DELETE = 2;

  /** Name of the topic. */
  static final int PRODUCE = 3;

  /** Topic, subscription, the consumer's number among those of the subscription. */
  static final int CONSUME = 4;

  /** Length of the record after which none comes. */
  static final int END = -1;

  /** The same, of a consumer that did not want to leave. */
  static final int EJECTED = -2;

  private static final int BUFFER_BYTES = 64 << 10;
  private static final int CONNECT_MS_MAX = 5_000;

  private final Socket socket;
  final DataInputStream in;
  final DataOutputStream out;

  Wire(Socket socket) throws IOException {
    this.socket = socket;
    socket.setTcpNoDelay(true);
    this.in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), BUFFER_BYTES));
    this.out =
        new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), BUFFER_BYTES));
  }

  /** What a client says before it is answered. */
  interface Question {
    void write(DataOutputStream out) throws IOException;
  }

  /** Connects and asks. */
  static Wire ask(InetSocketAddress address, int wanted, Question question) throws DriverException {
    Wire wire = null;
    try {
      Socket socket = new Socket();
      socket.connect(
          new InetSocketAddress(address.getHostString(), address.getPort()), CONNECT_MS_MAX);
      wire = new Wire(socket);
      wire.out.writeByte(wanted);
      question.write(wire.out);
      wire.out.flush();
      String refusal = wire.in.readUTF();
      if (refusal.isEmpty()) {
        return wire;
      }
      wire.close();
      throw new RefusedException("null driver: " + refusal, null);
    } catch (IOException e) {
      if (wire != null) {
        wire.close();
      }
      throw new DriverException(
          "null driver: its server at " + address + " can't be used: " + e.getMessage(), e);
    }
  }

  /** Breaks it off, whoever reads or writes. */
  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException e) {
      // Nothing is left to be done with it.
    }
  }
}
