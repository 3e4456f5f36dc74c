package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.Threads;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.WakeupException;

/**
 * A Kafka consumer of one topic as a member of a share group, polled by a thread of its own. Each
 * poll acknowledges what the one before handed over, as the client does by default.
 */
final class ShareConsumer implements MessageConsumer {
  private static final Duration POLL = Duration.ofSeconds(1);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);
  private static final long PAUSED_PARK_NS = 5_000_000;
  private static final long ERROR_PAUSE_MS = 100;

  private final KafkaShareConsumer<ByteBuffer, ByteBuffer> client;
  private final ConsumerSpec spec;
  private final MessageSink sink;
  private final long batchMessagesMax;
  private final Thread thread;
  private volatile boolean paused;
  private volatile boolean closing;

  ShareConsumer(
      KafkaShareConsumer<ByteBuffer, ByteBuffer> client, ConsumerSpec spec, MessageSink sink)
      throws DriverException {
    this.client = client;
    this.spec = spec;
    this.sink = sink;
    this.batchMessagesMax = ClientSettings.batchMessagesMax(spec.options());
    this.paused = spec.startPaused();
    this.thread = Threads.daemon("kafka-" + spec.clientId(), this::run);
  }

  void start() {
    thread.start();
  }

  /** The client has no pause: it is not polled, and so takes no more than it has. */
  @Override
  public void pause() {
    paused = true;
  }

  @Override
  public void resume() {
    paused = false;
    LockSupport.unpark(thread);
  }

  private void run() {
    try {
      client.subscribe(List.of(spec.topic()));
      while (!closing) {
        if (paused) {
          LockSupport.parkNanos(PAUSED_PARK_NS);
        } else {
          pollOnce();
        }
      }
    } catch (RuntimeException e) {
      sink.error(e);
    } finally {
      closeClient();
    }
  }

  private void pollOnce() {
    try {
      ConsumerRecords<ByteBuffer, ByteBuffer> batch = client.poll(POLL);
      if (!batch.isEmpty()) {
        Handover.deliver(batch, spec.topicIndex(), sink, System.nanoTime());
      }
    } catch (WakeupException e) {
      // To look at the flags.
    } catch (InterruptException e) {
      closing = true;
    } catch (RuntimeException e) {
      report(e);
    }
  }

  private void report(RuntimeException failure) {
    if (closing) {
      return;
    }
    if (Refusals.isOfData(failure)) {
      // The client has rejected the batch by then, and the group is done with it.
      sink.discarded(batchMessagesMax, failure);
    } else {
      sink.error(failure);
    }
    try {
      // An error that stays must not keep a core busy.
      Thread.sleep(ERROR_PAUSE_MS);
    } catch (InterruptedException e) {
      closing = true;
    }
  }

  private void closeClient() {
    try {
      client.close(CLOSE_TIMEOUT);
    } catch (RuntimeException e) {
      // The last acknowledgements failed: the trial is over, and the group ends with it.
    }
  }

  @Override
  public void close() {
    closing = true;
    client.wakeup();
    Threads.awaitEnd(thread, CLOSE_TIMEOUT.toMillis() + POLL.toMillis());
  }
}
