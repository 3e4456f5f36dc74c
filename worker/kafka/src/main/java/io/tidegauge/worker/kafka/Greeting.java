package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.drivers.Reach;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;

/**
 * The first words of Kafka's protocol: ApiVersions, which a broker answers to anybody, then, from a
 * client that does not authenticate itself, a question about no topic, on which a listener with
 * SASL hangs up. The official client would try that again and again until its time is up.
 */
record Greeting(boolean authenticates) implements Reach.Greeting {
  private static final short API_VERSIONS = 18;
  private static final short METADATA = 3;
  private static final int ANSWER_BYTES_MAX = 1 << 20;
  private static final byte[] NO_TOPICS = new byte[4];

  @Override
  public void exchange(InputStream in, OutputStream out) throws IOException, AccessException {
    DataInputStream answers = new DataInputStream(in);
    ByteBuffer versions = ask(API_VERSIONS, (short) 0, new byte[0], answers, out);
    if (isOfController(versions)) {
      throw new AccessException(
          "A KRaft controller listens at this port: give the address of a broker's listener", null);
    }
    if (authenticates) {
      return;
    }
    try {
      ask(METADATA, (short) 1, NO_TOPICS, answers, out);
    } catch (EOFException e) {
      throw new AccessException(
          "Kafka hangs up on a client without credentials: this listener wants SASL", e);
    }
  }

  /**
   * Whether an answer to ApiVersions (version 0: number of the request, error, then key, least and
   * greatest version of each request that is understood) lacks what every broker's listener has.
   */
  private static boolean isOfController(ByteBuffer versions) throws IOException {
    try {
      versions.getInt();
      if (versions.getShort() != 0) {
        return false;
      }
      for (int left = versions.getInt(); left > 0; left--) {
        if (versions.getShort() == METADATA) {
          return false;
        }
        versions.getInt();
      }
      return true;
    } catch (BufferUnderflowException e) {
      throw new IOException("the answer is not of Kafka's protocol", e);
    }
  }

  /** Sends a request (header version 1, without a client id) and returns its answer. */
  private static ByteBuffer ask(
      short api, short version, byte[] body, DataInputStream answers, OutputStream out)
      throws IOException {
    int bytes = 10 + body.length;
    ByteBuffer request = ByteBuffer.allocate(4 + bytes);
    request.putInt(bytes).putShort(api).putShort(version).putInt(1).putShort((short) -1).put(body);
    out.write(request.array());
    out.flush();
    int length = answers.readInt();
    if (length < 4 || length > ANSWER_BYTES_MAX) {
      throw new IOException("the answer is not of Kafka's protocol");
    }
    byte[] answer = new byte[length];
    answers.readFully(answer);
    return ByteBuffer.wrap(answer);
  }
}
