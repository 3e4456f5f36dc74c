package io.tidegauge.worker.drivers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.junit.jupiter.api.Test;

/** A server that says one word and closes the connection while its client is still writing. */
class DeafSocketTest {
  private static final int WORD = 42;

  /** Until a write has failed: the first ones after a close still succeed. */
  private static final int WRITES = 20;

  private static final long PAUSE_MS = 50;

  @Test
  void anOrdinarySocketFailsToWrite() throws Exception {
    assertThatThrownBy(() -> writeAndRead(new Socket())).isInstanceOf(IOException.class);
  }

  @Test
  void aDeafOneReadsWhatWasSaidBeforeTheEnd() throws Exception {
    assertThat(writeAndRead(new DeafSocket())).isEqualTo(WORD);
  }

  private static int writeAndRead(Socket socket) throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        socket) {
      socket.connect(new InetSocketAddress(server.getInetAddress(), server.getLocalPort()));
      try (Socket accepted = server.accept()) {
        accepted.getOutputStream().write(WORD);
      }
      OutputStream out = socket.getOutputStream();
      for (int written = 0; written < WRITES; written++) {
        out.write(1);
        out.flush();
        Thread.sleep(PAUSE_MS);
      }
      return socket.getInputStream().read();
    }
  }
}
