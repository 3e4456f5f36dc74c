package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.Threads;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.WakeupException;

/** A Kafka consumer of one topic as a member of a group, polled by a thread of its own. */
final class GroupConsumer implements MessageConsumer, ConsumerRebalanceListener {
  private static final Duration POLL = Duration.ofSeconds(1);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);
  private static final long ERROR_PAUSE_MS = 100;

  private final Consumer<ByteBuffer, ByteBuffer> client;
  private final ConsumerSpec spec;
  private final MessageSink sink;
  private final boolean partitionExpected;
  private final CountDownLatch ready = new CountDownLatch(1);
  private final Refusals refusals;
  private final Thread thread;
  private volatile boolean paused;
  private volatile boolean closing;
  private volatile Throwable firstError;
  private volatile boolean refused;

  /**
   * @param partitionExpected whether the group has a partition left for this member, so that being
   *     assigned none yet means that the rebalance is not over
   */
  GroupConsumer(
      Consumer<ByteBuffer, ByteBuffer> client,
      ConsumerSpec spec,
      MessageSink sink,
      boolean partitionExpected) {
    this.client = client;
    this.spec = spec;
    this.sink = sink;
    this.partitionExpected = partitionExpected;
    this.paused = spec.startPaused();
    this.refusals =
        new Refusals(
            client,
            this::deliverNext,
            (partition, cause) -> sink.damaged(spec.topicIndex(), partition, cause));
    this.thread = Threads.daemon("kafka-" + spec.clientId(), this::run);
  }

  /** Starts reading and returns once the group has assigned partitions to this member. */
  void start(long timeoutMs) throws DriverException {
    thread.start();
    try {
      if (ready.await(timeoutMs, TimeUnit.MILLISECONDS) && !refused) {
        return;
      }
    } catch (InterruptedException e) {
      throw Failures.describe("subscribe to " + spec.topic(), e);
    }
    Throwable cause = firstError;
    if (cause != null) {
      throw Failures.describe("subscribe to " + spec.topic(), cause);
    }
    throw new DriverException(
        "Kafka assigned no partition of "
            + spec.topic()
            + " to a consumer within "
            + timeoutMs
            + " ms");
  }

  @Override
  public void pause() {
    paused = true;
    client.wakeup();
  }

  @Override
  public void resume() {
    paused = false;
    client.wakeup();
  }

  @Override
  public void close() {
    closing = true;
    client.wakeup();
    Threads.awaitEnd(thread, CLOSE_TIMEOUT.toMillis() + POLL.toMillis());
  }

  @Override
  public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
    if (paused) {
      client.pause(partitions);
    }
    if (!partitions.isEmpty() || !partitionExpected) {
      ready.countDown();
    }
  }

  /** Nothing to do: the client commits by itself before it gives partitions up. */
  @Override
  public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

  private void run() {
    try {
      client.subscribe(List.of(spec.topic()), this);
      boolean applied = paused;
      while (!closing) {
        boolean wanted = paused;
        if (wanted != applied) {
          applyPause(wanted);
          applied = wanted;
        }
        pollOnce();
      }
    } catch (RuntimeException e) {
      report(e);
    } finally {
      closeClient();
    }
  }

  private void closeClient() {
    try {
      client.close(CloseOptions.timeout(CLOSE_TIMEOUT));
    } catch (RuntimeException e) {
      // A last commit or the leaving of the group failed: the trial is over, and the group ends
      // with it.
    }
  }

  private void applyPause(boolean wanted) {
    if (wanted) {
      client.pause(client.assignment());
    } else {
      client.resume(client.assignment());
    }
  }

  private void pollOnce() {
    try {
      if (deliverNext(POLL)) {
        return;
      }
      if (ready.getCount() > 0 && !partitionExpected && client.groupMetadata().generationId() > 0) {
        // The newer group protocol does not inform a member that it was given nothing.
        ready.countDown();
      }
    } catch (WakeupException e) {
      // To look at the flags.
    } catch (InterruptException e) {
      closing = true;
    } catch (RuntimeException e) {
      report(e);
      getOver(e);
    }
  }

  private void getOver(RuntimeException failure) {
    try {
      if (!closing && Refusals.isOfData(failure)) {
        refusals.meet(failure);
      }
    } catch (WakeupException e) {
      // To look at the flags.
    } catch (InterruptException e) {
      closing = true;
    } catch (RuntimeException e) {
      report(e);
    }
  }

  /** Whether anything came. */
  private boolean deliverNext(Duration wait) {
    ConsumerRecords<ByteBuffer, ByteBuffer> batch = client.poll(wait);
    if (!batch.isEmpty()) {
      Handover.deliver(batch, spec.topicIndex(), sink, System.nanoTime());
    }
    return !batch.isEmpty();
  }

  private void report(RuntimeException failure) {
    if (firstError == null) {
      firstError = failure;
    }
    if (closing) {
      return;
    }
    if (ready.getCount() > 0 && Failures.isAccess(failure)) {
      // Waiting on is of no use.
      firstError = failure;
      refused = true;
      ready.countDown();
      return;
    }
    sink.error(failure);
    try {
      // An error that stays must not keep a core busy.
      Thread.sleep(ERROR_PAUSE_MS);
    } catch (InterruptedException e) {
      closing = true;
    }
  }
}
