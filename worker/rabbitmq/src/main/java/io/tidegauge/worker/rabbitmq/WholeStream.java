package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.stream.Consumer;
import com.rabbitmq.stream.Environment;
import com.rabbitmq.stream.NoOffsetException;
import com.rabbitmq.stream.OffsetSpecification;
import com.rabbitmq.stream.StreamStats;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.PartitionRead;
import io.tidegauge.worker.api.ReadBackSink;
import io.tidegauge.worker.api.ReadBackSpec;

/**
 * Reads one stream from its first offset, or a later one. The server reports the offset at which
 * its last committed chunk begins, if anything; what comes after that is read until nothing has
 * come for a while. That chunk may hold no message.
 */
final class WholeStream {
  private static final long QUIET_NS = 2_000_000_000L;

  /** Where the end is not reached, or the server reports none, as before 3.11. */
  private static final long QUIET_BEFORE_END_NS = 5_000_000_000L;

  private static final long POLL_MS = 20;
  private static final byte[] NO_BYTES = {};

  private final ReadBackSpec spec;
  private final int partition;
  private final String stream;
  private final ReadBackSink sink;

  // Written by the client's one delivery thread of the stream.
  private volatile long messages;
  private volatile long reached = -1;
  private volatile long newestNs = System.nanoTime();
  private volatile String first = "";
  private volatile RuntimeException failure;

  WholeStream(ReadBackSpec spec, int partition, String stream, ReadBackSink sink) {
    this.spec = spec;
    this.partition = partition;
    this.stream = stream;
    this.sink = sink;
  }

  PartitionRead read(StreamClients clients, Environment environment)
      throws DriverException, InterruptedException {
    long end = end(clients, environment);
    boolean complete = readOn(clients, environment, end);
    if (failure != null) {
      throw failure;
    }
    String why = complete ? "" : "not read to its end in time";
    String lastChunk = end < 0 ? "" : "last chunk at offset " + end;
    return new PartitionRead(
        spec.topicIndex(), partition, messages, complete, why, first, lastChunk);
  }

  /**
   * Where the last committed chunk begins; -1 for an empty stream, or if the server doesn't say.
   */
  private long end(StreamClients clients, Environment environment) throws DriverException {
    try {
      StreamStats stats =
          clients.whenReady(
              "report the end of " + stream, () -> environment.queryStreamStats(stream));
      return stats.committedChunkId();
    } catch (NoOffsetException e) {
      return -1;
    } catch (DriverException e) {
      if (e.getCause() instanceof UnsupportedOperationException) {
        return -1;
      }
      throw e;
    }
  }

  /**
   * Until the end is reached and nothing follows it, or a consumer that begins where the one before
   * fell silent finds nothing: what is last may be positions of readers, which nobody is given.
   * False if time runs out.
   */
  private boolean readOn(StreamClients clients, Environment environment, long end)
      throws DriverException, InterruptedException {
    while (true) {
      long before = reached;
      Consumer consumer = clients.whenReady("read back " + stream, () -> consumer(environment));
      try {
        if (!awaitQuiet(end)) {
          return false;
        }
      } finally {
        StreamProducer.closeQuietly(consumer);
      }
      if (end >= 0 && reached >= end || reached == before) {
        return true;
      }
    }
  }

  private Consumer consumer(Environment environment) {
    long next = reached < 0 ? spec.fromOf(partition) : reached + 1;
    return environment.consumerBuilder().stream(stream)
        .offset(next < 0 ? OffsetSpecification.first() : OffsetSpecification.offset(next))
        .noTrackingStrategy()
        .messageHandler((at, found) -> found(at.offset(), found.getBodyAsBinary()))
        .build();
  }

  private boolean awaitQuiet(long end) throws InterruptedException {
    newestNs = System.nanoTime();
    while (spec.leftMs() > 0 && failure == null) {
      // First the end, then the silence: they are written the other way around.
      long quietNsMin = end >= 0 && reached >= end ? QUIET_NS : QUIET_BEFORE_END_NS;
      if (System.nanoTime() - newestNs > quietNsMin) {
        return true;
      }
      Thread.sleep(POLL_MS);
    }
    return false;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate")
  private void found(long offset, byte[] value) {
    if (failure != null || offset <= reached) {
      // After a reconnection the client may begin again at the beginning of a chunk.
      return;
    }
    try {
      sink.found(spec.topicIndex(), partition, offset, 0, value == null ? NO_BYTES : value);
    } catch (RuntimeException e) {
      failure = e;
      return;
    }
    first = messages == 0 ? "offset " + offset : first;
    messages++;
    newestNs = System.nanoTime();
    reached = offset;
  }
}
