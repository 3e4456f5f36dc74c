package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.PartitionRead;
import io.tidegauge.worker.api.ReadBackSink;
import io.tidegauge.worker.api.ReadBackSpec;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.impl.MessageIdImpl;

/**
 * Reads one partition from its earliest message, or a later entry, to the last that the broker
 * reports when reading begins, by a reader: no subscription is left behind. What all subscriptions
 * have acknowledged may be gone: one must be there that acknowledged nothing.
 */
final class WholePartition {
  private static final int POLL_MS = 200;
  private static final int QUEUE_MESSAGES = 1_000;
  private static final long CLOSE_TIMEOUT_MS = 5_000;
  private static final byte[] NO_BYTES = {};

  private final ReadBackSpec spec;
  private final int partition;
  private final ReadBackSink sink;
  private long messages;
  private String first = "";

  WholePartition(ReadBackSpec spec, int partition, ReadBackSink sink) {
    this.spec = spec;
    this.partition = partition;
    this.sink = sink;
  }

  /** The entry of a message as one number that grows along a partition. */
  static long position(MessageIdAdv id) {
    return (id.getLedgerId() << 32) | (id.getEntryId() & 0xFFFFFFFFL);
  }

  /** The other way around: the first message of an entry; the earliest there is for -1. */
  static MessageId start(long position) {
    return position < 0
        ? MessageId.earliest
        : new MessageIdImpl(position >> 32, position & 0xFFFFFFFFL, -1);
  }

  PartitionRead read(PulsarClient client, String fullName) throws DriverException {
    Reader<byte[]> reader =
        Failures.await(
            client
                .newReader()
                .topic(fullName)
                .readerName("tg-read-back")
                .receiverQueueSize(QUEUE_MESSAGES)
                .startMessageId(start(spec.fromOf(partition)))
                .startMessageIdInclusive()
                .createAsync(),
            "read back " + fullName,
            Math.max(1, spec.leftMs()));
    try {
      MessageIdAdv end =
          (MessageIdAdv)
              Failures.await(
                      reader.getLastMessageIdsAsync(),
                      "report the end of " + fullName,
                      Math.max(1, spec.leftMs()))
                  .get(0);
      return read(reader, end);
    } finally {
      Closing.quietly(reader.closeAsync(), CLOSE_TIMEOUT_MS);
    }
  }

  private PartitionRead read(Reader<byte[]> reader, MessageIdAdv end) {
    String why = "";
    boolean complete = false;
    try {
      complete = readTo(reader, end);
      why = complete ? "" : "not read to its end in time";
    } catch (PulsarClientException e) {
      why = Failures.describe("read on", e).getMessage();
    }
    return new PartitionRead(
        spec.topicIndex(), partition, messages, complete, why, first, words(end));
  }

  private boolean readTo(Reader<byte[]> reader, MessageIdAdv end) throws PulsarClientException {
    while (spec.leftMs() > 0) {
      Message<byte[]> message = reader.readNext(POLL_MS, TimeUnit.MILLISECONDS);
      if (message == null) {
        // An empty partition, or what is last there is none of ours (a marker of the broker's).
        if (!reader.hasMessageAvailable()) {
          return true;
        }
        continue;
      }
      MessageIdAdv id = (MessageIdAdv) message.getMessageId();
      byte[] value = message.getData() == null ? NO_BYTES : message.getData();
      int within = Math.max(0, id.getBatchIndex());
      sink.found(spec.topicIndex(), partition, position(id), within, value);
      first = messages++ == 0 ? words(id) : first;
      if (isLast(id, end)) {
        return true;
      }
    }
    return false;
  }

  /** Whether nothing of what was there is left after it, its batch included. */
  static boolean isLast(MessageIdAdv id, MessageIdAdv end) {
    if (end.getEntryId() < 0) {
      return false;
    }
    boolean batchRead = id.getBatchSize() <= 1 || id.getBatchIndex() == id.getBatchSize() - 1;
    return position(id) > position(end) || position(id) == position(end) && batchRead;
  }

  private static String words(MessageIdAdv id) {
    return "ledger " + id.getLedgerId() + " entry " + id.getEntryId();
  }
}
