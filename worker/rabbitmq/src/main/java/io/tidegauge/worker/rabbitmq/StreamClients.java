package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.stream.Environment;
import com.rabbitmq.stream.EnvironmentBuilder;
import com.rabbitmq.stream.StreamException;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.SharedClients;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.function.Supplier;

/**
 * Makes stream environments: one for each producer and consumer, so that each has connections and a
 * delivery thread of its own, unless there are very many. They share the threads that serve the
 * sockets.
 */
final class StreamClients implements AutoCloseable {
  private static final long RETRY_MS = 100;
  private static final long CLOSE_MS_MAX = 2_000;

  private final Connection connection;
  private final SharedClients<Environment> producers = new SharedClients<>();
  private final SharedClients<Environment> consumers = new SharedClients<>();
  private EventLoopGroup eventLoops;

  StreamClients(Connection connection) {
    this.connection = connection;
  }

  /** See {@link io.tidegauge.worker.api.Driver#expect}. */
  void expect(int producerCount, int consumerCount, int subscriptions) {
    producers.expect(producerCount, 1);
    consumers.expect(consumerCount, subscriptions);
  }

  Environment environment(String clientId) throws DriverException {
    return environment(clientId, messages -> {});
  }

  /**
   * @param discarded is told of each chunk that the client throws away, since it came damaged, how
   *     many messages it had
   */
  synchronized Environment environment(String clientId, LongConsumer discarded)
      throws DriverException {
    if (connection.streamUris().isEmpty()) {
      throw new DriverException(
          "RabbitMQ's streams need the connection setting streamUri, for example rabbitmq-stream://127.0.0.1:5552");
    }
    if (eventLoops == null) {
      eventLoops = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
    }
    EnvironmentBuilder builder =
        Environment.builder()
            .uris(connection.streamUris())
            .id(clientId)
            .chunkChecksum(new ChunkCheck(discarded))
            .rpcTimeout(Duration.ofMillis(Math.min(connection.timeoutMs(), 10_000)))
            .netty()
            .eventLoopGroup(eventLoops)
            .environmentBuilder();
    Access.apply(connection, builder);
    try {
      return builder.build();
    } catch (RuntimeException e) {
      throw Failures.describe("be reached by the stream protocol", e);
    }
  }

  SharedClients.Hold<Environment> forProducer(String clientId) throws DriverException {
    return producers.take("", () -> environment(clientId));
  }

  SharedClients.Hold<Environment> forConsumer(
      String clientId, String subscription, LongConsumer discarded) throws DriverException {
    return consumers.take(subscription, () -> environment(clientId, discarded));
  }

  /** Gives up a part; the last one closes the environment. */
  static void release(SharedClients.Hold<Environment> held) {
    if (held.release()) {
      StreamProducer.closeQuietly(held.client());
    }
  }

  /**
   * Makes a client, again while the stream's leader is not yet there. {@code what} completes "could
   * not ...".
   */
  <T> T whenReady(String what, Supplier<T> maker) throws DriverException {
    long untilNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(connection.timeoutMs());
    while (true) {
      try {
        return maker.get();
      } catch (StreamException e) {
        DriverException failure = Failures.describe(what, e);
        if (System.nanoTime() > untilNs || failure instanceof AccessException) {
          throw failure;
        }
      } catch (RuntimeException e) {
        throw Failures.describe(what, e);
      }
      Failures.pause(RETRY_MS, what);
    }
  }

  @Override
  public synchronized void close() {
    if (eventLoops != null) {
      eventLoops.shutdownGracefully(0, CLOSE_MS_MAX, TimeUnit.MILLISECONDS);
    }
  }
}
