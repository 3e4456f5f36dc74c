package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.drivers.Reach;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * The ping of Pulsar's protocol, which a broker answers to anybody (or hangs up, in its own way).
 */
final class Greeting implements Reach.Greeting {
  /**
   * Length of all, length of the command, then BaseCommand{type: PING, ping: {}} of
   * PulsarApi.proto.
   */
  private static final byte[] PING = {0, 0, 0, 9, 0, 0, 0, 5, 0x08, 18, (byte) 0x92, 1, 0};

  @Override
  public void exchange(InputStream in, OutputStream out) throws IOException {
    out.write(PING);
    out.flush();
    new DataInputStream(in).readInt();
  }
}
