package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.Threads;
import io.tidegauge.worker.drivers.SharedClients;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.PulsarClientException;

/**
 * A consumer of a topic that is not partitioned: a thread that receives, the cheapest way of the
 * client's.
 */
final class TopicConsumer implements MessageConsumer {
  private static final int RECEIVE_MS = 200;
  private static final long ERROR_PAUSE_MS = 100;
  private static final long CLOSE_TIMEOUT_MS = 5_000;

  private final SharedClients.Hold<Reading> held;
  private final Consumer<byte[]> consumer;
  private final MessageSink sink;
  private final Delivery delivery;
  private final Gate gate;
  private final Thread thread;
  private volatile boolean closing;

  TopicConsumer(
      SharedClients.Hold<Reading> held,
      Consumer<byte[]> consumer,
      MessageSink sink,
      Delivery delivery,
      boolean paused,
      String name) {
    this.held = held;
    this.consumer = consumer;
    this.sink = sink;
    this.delivery = delivery;
    this.gate = new Gate(paused);
    this.thread = Threads.daemon("pulsar-" + name, this::run);
  }

  void start() {
    thread.start();
  }

  private void run() {
    while (gate.pass()) {
      try {
        Message<byte[]> message = consumer.receive(RECEIVE_MS, TimeUnit.MILLISECONDS);
        if (message != null && gate.pass()) {
          delivery.deliver(consumer, message);
        }
      } catch (PulsarClientException | RuntimeException e) {
        if (closing || !reportAndPause(e)) {
          return;
        }
      }
    }
  }

  /** False if the thread is to end. An error that stays must not keep a core busy. */
  private boolean reportAndPause(Exception failure) {
    sink.error(failure);
    try {
      Thread.sleep(ERROR_PAUSE_MS);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  @Override
  public void pause() {
    consumer.pause();
    gate.shut();
  }

  @Override
  public void resume() {
    gate.open();
    consumer.resume();
  }

  @Override
  public void close() {
    closing = true;
    gate.end();
    Closing.quietly(
        consumer.closeAsync().thenCompose(done -> Reading.release(held)), CLOSE_TIMEOUT_MS);
    Threads.awaitEnd(thread, CLOSE_TIMEOUT_MS);
  }
}
