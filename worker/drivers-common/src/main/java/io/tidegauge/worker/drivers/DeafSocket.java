package io.tidegauge.worker.drivers;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;

/**
 * A socket that does not hear that nobody takes its words any more: what is written after the other
 * side has closed is dropped, and what that side had said before can still be read. A TLS client
 * whose last message of the handshake finds the connection closed would otherwise only learn of a
 * broken pipe, and the server's alert with the reason would stay unread.
 */
final class DeafSocket extends Socket {
  @Override
  public OutputStream getOutputStream() throws IOException {
    return new FilterOutputStream(super.getOutputStream()) {
      @Override
      public void write(int word) {
        write(new byte[] {(byte) word}, 0, 1);
      }

      @Override
      public void write(byte[] words, int offset, int length) {
        try {
          out.write(words, offset, length);
        } catch (IOException e) {
          // Reading shows why.
        }
      }
    };
  }
}
