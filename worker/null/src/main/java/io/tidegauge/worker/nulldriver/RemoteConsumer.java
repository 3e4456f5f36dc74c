package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageSink;
import java.io.IOException;
import java.net.InetSocketAddress;

/**
 * Reads from a {@link NullServer} what a {@link NullConsumer} then takes, as if a producer of this
 * process had sent it.
 */
final class RemoteConsumer implements MessageConsumer {
  private static final int CLOSE_MS_MAX = 2_000;

  private final Wire wire;
  private final NullConsumer consumer;
  private final ChunkQueue queue;
  private final MessageSink sink;
  private final Thread reader;
  private volatile boolean closing;

  RemoteConsumer(
      InetSocketAddress address, ConsumerSpec spec, NullSettings settings, MessageSink sink)
      throws DriverException {
    int number = spec.place() == null ? -1 : spec.place().member();
    this.wire =
        Wire.ask(
            address,
            Wire.CONSUME,
            out -> {
              out.writeUTF(spec.topic());
              out.writeUTF(spec.subscription());
              out.writeInt(number);
            });
    this.sink = sink;
    this.consumer =
        new NullConsumer(
            spec.clientId(), spec.topicIndex(), sink, spec.startPaused(), settings.consumeNs());
    this.queue = consumer.newQueue(spec.options().messageBytes(), settings.backlogBytesMax());
    this.reader = new Thread(this::read, "null-read-" + spec.clientId());
    reader.setDaemon(true);
    reader.start();
  }

  private void read() {
    try {
      byte[] value = new byte[0];
      int length = wire.in.readInt();
      while (length != Wire.END) {
        int partition = wire.in.readInt();
        value = value.length == length ? value : new byte[length];
        wire.in.readFully(value);
        queue.copy(partition, value);
        queue.publish();
        consumer.wake();
        length = wire.in.readInt();
      }
    } catch (IOException e) {
      if (!closing) {
        sink.error(new IOException("null driver: the connection to its server is lost", e));
      }
    }
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
    closing = true;
    try {
      wire.out.writeByte(Wire.END);
      wire.out.flush();
      reader.join(CLOSE_MS_MAX);
      consumer.awaitEmpty(CLOSE_MS_MAX);
    } catch (IOException e) {
      // The server has gone: nothing more comes.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    wire.close();
    consumer.close();
  }
}
