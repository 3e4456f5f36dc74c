package io.tidegauge.worker.nats;

import io.nats.client.ConsumeOptions;
import io.nats.client.IterableConsumer;
import io.nats.client.JetStreamApiException;
import io.nats.client.JetStreamManagement;
import io.nats.client.JetStreamStatusCheckedException;
import io.nats.client.Message;
import io.nats.client.StreamContext;
import io.nats.client.api.DeliverPolicy;
import io.nats.client.api.OrderedConsumerConfiguration;
import io.nats.client.api.StreamState;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.PartitionRead;
import io.tidegauge.worker.api.ReadBackSink;
import io.tidegauge.worker.api.ReadBackSpec;
import java.io.IOException;

/**
 * Reads a stream from its beginning, or a later sequence, to its end, by an ordered consumer, which
 * leaves nothing behind. The end is what the leader has when reading begins; the last message known
 * is waited for, since a new leader may learn of it a little later.
 */
final class WholeStream {
  private static final long POLL_MS = 500;
  private static final long PAUSE_MS = 200;

  /** A consumer that has shown nothing for so long is on a node that lags, or on none. */
  private static final long STALLED_NS = 5_000_000_000L;

  private final ReadBackSpec spec;
  private final int partition;
  private final String stream;
  private final ReadBackSink sink;
  private long messages;
  private long first = -1;
  private long reached = -1;

  WholeStream(ReadBackSpec spec, int partition, String stream, ReadBackSink sink) {
    this.spec = spec;
    this.partition = partition;
    this.stream = stream;
    this.sink = sink;
  }

  PartitionRead read(io.nats.client.Connection client, JetStreamManagement jetStream)
      throws DriverException, InterruptedException {
    String why = "";
    StreamState state = null;
    // Servers that have just begun may learn of a stream a little later.
    long absentUntilNs =
        System.nanoTime() + Math.min(ReadBackSpec.BEHIND_MS, spec.leftMs()) * 1_000_000;
    boolean whole = false;
    while (!whole) {
      try {
        state = state(jetStream);
        whole = readOn(client, jetStream, state);
        if (!whole && spec.leftMs() == 0) {
          why = "not read to its end in time";
          break;
        }
      } catch (IOException | JetStreamApiException | JetStreamStatusCheckedException e) {
        if (Failures.isAbsent(e) && System.nanoTime() > absentUntilNs) {
          return spec.unread(partition, "").gone("NATS has no stream " + stream + " any more");
        }
        if (spec.leftMs() < PAUSE_MS) {
          why = Failures.describe("read back " + stream, e).getMessage();
          break;
        }
        Thread.sleep(PAUSE_MS);
      }
    }
    String end = state == null ? "" : "last sequence " + state.getLastSequence();
    String begin = first < 0 ? "" : "sequence " + first;
    return new PartitionRead(
        spec.topicIndex(), partition, messages, why.isEmpty(), why, begin, end);
  }

  private StreamState state(JetStreamManagement jetStream)
      throws IOException, JetStreamApiException, InterruptedException {
    long untilNs = System.nanoTime() + Math.min(ReadBackSpec.BEHIND_MS, spec.leftMs()) * 1_000_000;
    StreamState state = jetStream.getStreamInfo(stream).getStreamState();
    while (state.getLastSequence() < spec.lastOf(partition) && System.nanoTime() < untilNs) {
      Thread.sleep(PAUSE_MS);
      state = jetStream.getStreamInfo(stream).getStreamState();
    }
    return state;
  }

  /** Whether the leader still has a message. */
  private boolean has(JetStreamManagement jetStream, long sequence)
      throws IOException, JetStreamApiException {
    try {
      jetStream.getMessage(stream, sequence);
      return true;
    } catch (JetStreamApiException e) {
      if (e.getApiErrorCode() == Failures.NO_MESSAGE) {
        return false;
      }
      throw e;
    }
  }

  /**
   * False if time runs out, or if a new consumer must go on: a node that lags behind the leader has
   * nothing more to deliver, and knows of nothing more, before the stream's end.
   */
  private boolean readOn(
      io.nats.client.Connection client, JetStreamManagement jetStream, StreamState state)
      throws IOException,
          JetStreamApiException,
          JetStreamStatusCheckedException,
          InterruptedException {
    long next = Math.max(spec.fromOf(partition), reached + 1);
    if (state.getMsgCount() == 0 || next > state.getLastSequence()) {
      return true;
    }
    OrderedConsumerConfiguration ordered = new OrderedConsumerConfiguration();
    if (next > 0) {
      ordered.deliverPolicy(DeliverPolicy.ByStartSequence).startSequence(next);
    }
    StreamContext context = client.getStreamContext(stream);
    try (IterableConsumer reader =
        context.createOrderedConsumer(ordered).iterate(ConsumeOptions.builder().build())) {
      long shownNs = System.nanoTime();
      while (reached < state.getLastSequence()) {
        if (spec.leftMs() == 0) {
          return false;
        }
        Message message = reader.nextMessage(Math.min(POLL_MS, spec.leftMs() + 1));
        if (message == null) {
          if (System.nanoTime() - shownNs > STALLED_NS) {
            return !has(jetStream, state.getLastSequence());
          }
          continue;
        }
        shownNs = System.nanoTime();
        reached = message.metaData().streamSequence();
        first = first < 0 ? reached : first;
        messages++;
        sink.found(spec.topicIndex(), partition, reached, 0, message.getData());
        if (message.metaData().pendingCount() == 0 && !has(jetStream, state.getLastSequence())) {
          // The last ones were removed.
          return true;
        }
      }
      return true;
    } catch (IOException
        | JetStreamApiException
        | JetStreamStatusCheckedException
        | InterruptedException
        | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(e);
    }
  }
}
