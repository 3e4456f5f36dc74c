package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.Threads;
import java.io.IOException;
import java.net.InetSocketAddress;

/**
 * Reads from a {@link NullServer} what a {@link NullConsumer} then takes, as if a producer of this
 * process had sent it.
 */
final class RemoteConsumer implements MessageConsumer {
  private static final int CLOSE_MS_MAX = 2_000;

  /** How long one that was ejected stays away: others take over meanwhile. */
  private static final int AWAY_MS = 50;

  private final InetSocketAddress address;
  private final Wire.Question joining;
  private final NullConsumer consumer;
  private final ChunkQueue queue;
  private final MessageSink sink;
  private final Thread reader;

  /** Guarded by this, like what follows; replaced by the reader only. */
  private Wire wire;

  private boolean closing;

  RemoteConsumer(
      InetSocketAddress address, ConsumerSpec spec, NullSettings settings, MessageSink sink)
      throws DriverException {
    int number = spec.place() == null ? -1 : spec.place().member();
    this.address = address;
    this.joining =
        out -> {
          out.writeUTF(spec.topic());
          out.writeUTF(spec.subscription());
          out.writeInt(number);
        };
    this.wire = Wire.ask(address, Wire.CONSUME, joining);
    this.sink = sink;
    this.consumer =
        new NullConsumer(
            spec.clientId(), spec.topicIndex(), sink, spec.startPaused(), settings.consumeNs());
    this.queue = consumer.newQueue(spec.options().messageBytesMax(), settings.backlogBytesMax());
    Wire first = wire;
    this.reader = Threads.start("null-read-" + spec.clientId(), () -> readAll(first));
  }

  private void readAll(Wire first) {
    try {
      for (Wire from = first; from != null; ) {
        from = read(from) == Wire.EJECTED ? joinAgain() : null;
      }
    } catch (IOException | DriverException e) {
      if (!isClosing()) {
        sink.error(new IOException("null driver: the connection to its server is lost", e));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Reads until nothing more comes, and returns what the server says then. */
  private int read(Wire from) throws IOException {
    byte[] value = new byte[0];
    int length = from.in.readInt();
    while (length >= 0) {
      int partition = from.in.readInt();
      value = value.length == length ? value : new byte[length];
      from.in.readFully(value);
      queue.copy(partition, value);
      queue.publish();
      consumer.wake(queue);
      length = from.in.readInt();
    }
    return length;
  }

  /** After a while; null if it is closed by then. */
  private synchronized Wire joinAgain() throws DriverException, InterruptedException {
    wire.close();
    long until = System.nanoTime() + AWAY_MS * 1_000_000L;
    for (long left = AWAY_MS; left > 0 && !closing; ) {
      wait(left);
      left = (until - System.nanoTime()) / 1_000_000;
    }
    wire = closing ? wire : Wire.ask(address, Wire.CONSUME, joining);
    return closing ? null : wire;
  }

  private synchronized boolean isClosing() {
    return closing;
  }

  @Override
  public void pause() {
    consumer.pause();
  }

  @Override
  public void resume() {
    consumer.resume();
  }

  /**
   * What the server has handed over is delivered, unless the consumer is paused; the rest stays for
   * other consumers.
   */
  @Override
  public void close() {
    leave();
    try {
      reader.join(CLOSE_MS_MAX);
      consumer.awaitEmpty(CLOSE_MS_MAX);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    breakOff();
    consumer.close();
  }

  private synchronized void leave() {
    closing = true;
    notifyAll();
    try {
      wire.out.writeByte(Wire.END);
      wire.out.flush();
    } catch (IOException e) {
      // It has gone, or we were ejected: nothing more comes.
    }
  }

  private synchronized void breakOff() {
    wire.close();
  }
}
