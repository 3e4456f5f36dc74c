package io.tidegauge.worker.nats;

import io.nats.client.ConsumerContext;
import io.nats.client.Dispatcher;
import io.nats.client.JetStreamApiException;
import io.nats.client.Message;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.drivers.SharedClients;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Pulls the streams of some partitions, all on one thread of the client, through durable consumers
 * of the subscription.
 *
 * <p>To pause it asks for nothing more, and keeps what comes until it is resumed: what the client
 * threw away instead would come again out of order.
 */
final class PullConsumer implements MessageConsumer {
  private final ConsumerSpec spec;
  private final Topic topic;
  private final MessageSink sink;
  private final ConsumerOptions options;
  private final SharedClients.Hold<io.nats.client.Connection> held;
  private final io.nats.client.Connection client;
  private final Dispatcher dispatcher;
  private final ScheduledFuture<?> rounds;
  private final Object gate = new Object();

  /** Guarded by this, like what follows. */
  private final Map<Integer, Reader> reading = new TreeMap<>();

  private List<Integer> assigned = List.of();
  private volatile boolean paused;
  private volatile boolean closed;

  PullConsumer(
      ConsumerSpec spec,
      Topic topic,
      ConsumerOptions options,
      SharedClients.Hold<io.nats.client.Connection> held,
      MessageSink sink,
      ScheduledExecutorService keeper) {
    this.spec = spec;
    this.topic = topic;
    this.options = options;
    this.held = held;
    this.client = held.client();
    this.sink = sink;
    this.paused = spec.startPaused();
    this.dispatcher = client.createDispatcher();
    this.rounds =
        keeper.scheduleWithFixedDelay(
            this::acknowledgeAll,
            options.ackIntervalMs(),
            options.ackIntervalMs(),
            TimeUnit.MILLISECONDS);
  }

  boolean isClosed() {
    return closed;
  }

  /** Reads these partitions from now on, and no others. */
  synchronized void assign(List<Integer> partitions) throws DriverException {
    assigned = List.copyOf(partitions);
    try {
      reading.entrySet().removeIf(one -> !assigned.contains(one.getKey()) && one.getValue().end());
      if (!paused) {
        readAssigned();
      }
    } catch (IOException | JetStreamApiException | RuntimeException e) {
      throw Failures.describe("consume " + spec.topic(), e);
    }
  }

  private void readAssigned() throws IOException, JetStreamApiException {
    int batch = options.batchOf(assigned.size());
    for (int partition : assigned) {
      Reader reader = reading.get(partition);
      if (reader == null) {
        ConsumerContext durable =
            client
                .getStreamContext(topic.stream(partition))
                .createOrUpdateConsumer(options.durable(spec));
        reader = new Reader(partition, durable, batch);
        reading.put(partition, reader);
      }
      reader.begin();
    }
  }

  @Override
  public synchronized void pause() {
    paused = true;
    reading.values().forEach(Reader::stop);
  }

  @Override
  public synchronized void resume() {
    paused = false;
    synchronized (gate) {
      gate.notifyAll();
    }
    try {
      readAssigned();
    } catch (IOException | JetStreamApiException | RuntimeException e) {
      sink.error(Failures.describe("consume " + spec.topic(), e));
    }
  }

  @Override
  public void close() {
    closed = true;
    rounds.cancel(false);
    synchronized (gate) {
      gate.notifyAll();
    }
    acknowledgeAll();
    synchronized (this) {
      reading.values().forEach(Reader::end);
    }
    if (held.release()) {
      NatsDriver.closeQuietly(client);
    } else {
      client.closeDispatcher(dispatcher);
    }
  }

  private void acknowledgeAll() {
    List<Reader> readers;
    synchronized (this) {
      readers = List.copyOf(reading.values());
    }
    readers.forEach(Reader::acknowledge);
  }

  /** Waits while paused. False if the consumer is closed. */
  private boolean mayDeliver() {
    if (paused && !closed) {
      synchronized (gate) {
        while (paused && !closed) {
          try {
            gate.wait();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
          }
        }
      }
    }
    return !closed;
  }

  /** One partition. Messages come on the dispatcher's thread. */
  private final class Reader {
    private final int partition;
    private final ConsumerContext durable;
    private final int batch;
    private final int ackEvery;
    private final AtomicReference<Message> unacknowledged = new AtomicReference<>();
    private io.nats.client.MessageConsumer pulling;
    private int since;

    Reader(int partition, ConsumerContext durable, int batch) {
      this.partition = partition;
      this.durable = durable;
      this.batch = batch;
      this.ackEvery = options.ackEveryOf(batch, spec.type());
    }

    void begin() throws IOException, JetStreamApiException {
      if (pulling == null) {
        pulling =
            durable.consume(options.consuming(batch, spec.type()), dispatcher, this::received);
      }
    }

    private void received(Message message) {
      if (!mayDeliver()) {
        return;
      }
      byte[] value = message.getData();
      sink.received(spec.topicIndex(), partition, value, 0, value.length, System.nanoTime());
      unacknowledged.set(message);
      if (++since >= ackEvery) {
        since = 0;
        acknowledge();
      }
    }

    void acknowledge() {
      Message last = unacknowledged.getAndSet(null);
      if (last != null) {
        try {
          last.ack();
        } catch (RuntimeException e) {
          if (!closed) {
            sink.error(e);
          }
        }
      }
    }

    void stop() {
      if (pulling != null) {
        pulling.stop();
        pulling = null;
      }
    }

    boolean end() {
      if (pulling != null) {
        try {
          pulling.close();
        } catch (Exception e) {
          // The connection is lost, and the pull with it.
        }
        pulling = null;
      }
      return true;
    }
  }
}
