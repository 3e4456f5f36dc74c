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
    while (state == null) {
      try {
        state = state(jetStream);
        if (!readOn(client, state)) {
          why = "not read to its end in time";
        }
      } catch (IOException | JetStreamApiException | JetStreamStatusCheckedException e) {
        if (Failures.isAbsent(e) && System.nanoTime() > absentUntilNs) {
          return spec.unread(partition, "").gone("NATS has no stream " + stream + " any more");
        }
        if (spec.leftMs() < PAUSE_MS) {
          why = Failures.describe("read back " + stream, e).getMessage();
          break;
        }
        state = null;
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

  /** False if time runs out. */
  private boolean readOn(io.nats.client.Connection client, StreamState state)
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
      while (reached < state.getLastSequence()) {
        if (spec.leftMs() == 0) {
          return false;
        }
        Message message = reader.nextMessage(Math.min(POLL_MS, spec.leftMs() + 1));
        if (message == null) {
          continue;
        }
        reached = message.metaData().streamSequence();
        first = first < 0 ? reached : first;
        messages++;
        sink.found(spec.topicIndex(), partition, reached, 0, message.getData());
        if (message.metaData().pendingCount() == 0) {
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
