package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.drivers.Reach;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** The protocol header of AMQP 0-9-1, which a server answers with its first frame. */
final class Greeting implements Reach.Greeting {
  private static final byte[] HEADER = {'A', 'M', 'Q', 'P', 0, 0, 9, 1};

  /** The type of a method frame: Connection.Start. */
  private static final int METHOD = 1;

  @Override
  public void exchange(InputStream in, OutputStream out) throws IOException {
    out.write(HEADER);
    out.flush();
    int first = in.read();
    if (first < 0) {
      throw new EOFException();
    }
    if (first != METHOD) {
      throw new IOException("the answer is not of AMQP");
    }
  }
}
