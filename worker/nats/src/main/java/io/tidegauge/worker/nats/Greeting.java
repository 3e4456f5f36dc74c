package io.tidegauge.worker.nats;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.Json;
import io.tidegauge.worker.drivers.Reach;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** A server's first word, which it says unasked: INFO and what it wants of a client, in JSON. */
record Greeting(boolean secured, boolean authenticates) implements Reach.Greeting {
  private static final String INFO = "INFO ";
  private static final int WORD_BYTES_MAX = 1 << 20;

  @Override
  public void exchange(InputStream in, OutputStream out) throws IOException, AccessException {
    String text = readWord(in);
    if (!text.startsWith(INFO)) {
      throw new IOException("the answer is not of NATS's protocol");
    }
    check(text.substring(INFO.length()));
  }

  /** The server's first line. */
  static String readWord(InputStream in) throws IOException {
    ByteArrayOutputStream word = new ByteArrayOutputStream();
    for (int one = in.read(); one != '\n'; one = in.read()) {
      if (one < 0 || word.size() > WORD_BYTES_MAX) {
        throw new EOFException();
      }
      word.write(one);
    }
    return word.toString(StandardCharsets.UTF_8);
  }

  private void check(String json) throws IOException, AccessException {
    Map<String, Object> info;
    try {
      info = Json.readMap(json);
    } catch (DriverException e) {
      throw new IOException("the answer is not of NATS's protocol", e);
    }
    boolean wanted = Boolean.TRUE.equals(info.get("tls_required"));
    if (wanted && !secured) {
      throw new AccessException("NATS wants TLS: its addresses must begin with tls://", null);
    }
    if (secured && !wanted && !Boolean.TRUE.equals(info.get("tls_available"))) {
      throw new AccessException(
          "TLS with NATS failed: the server speaks no TLS at this port", null);
    }
    if (Boolean.TRUE.equals(info.get("auth_required")) && !authenticates) {
      throw new AccessException("NATS lets nobody in without credentials", null);
    }
  }
}
