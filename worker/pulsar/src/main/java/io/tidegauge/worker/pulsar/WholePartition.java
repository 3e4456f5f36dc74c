package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.PartitionRead;
import io.tidegauge.worker.api.ReadBackSink;
import io.tidegauge.worker.api.ReadBackSpec;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.ReaderBuilder;
import org.apache.pulsar.client.impl.MessageIdImpl;

/**
 * Reads one partition from its earliest message, or a later entry, to the last that the broker
 * reports when reading begins, by a reader: no subscription is left behind. What all subscriptions
 * have acknowledged may be gone: one must be there that acknowledged nothing.
 *
 * <p>What a broker can't read is passed over: it gives nothing of a whole range that has such an
 * entry, so a reader that falls silent is followed by one that is given entries one by one, and
 * where that falls silent, too, the broker is asked for the next entry by its admin API.
 */
final class WholePartition {
  private static final int POLL_MS = 200;
  private static final int SILENCE_MS_MAX = 3_000;
  private static final int QUEUE_MESSAGES = 1_000;
  private static final long CLOSE_TIMEOUT_MS = 5_000;
  private static final byte[] NO_BYTES = {};

  private final ReadBackSpec spec;
  private final int partition;
  private final ReadBackSink sink;
  private final Discards discards;

  /**
   * The message after which reading goes on, within its batch; null where it goes on with an entry.
   * Of the message that a reader is to begin after, the client never gives back its place in the
   * queue, unless it is in a batch.
   */
  private MessageIdAdv last;

  /** The entry that comes next, as far as that is known. */
  private long next;

  /** What was last when reading began. */
  private MessageIdAdv end;

  private long messages;
  private String first = "";

  /** Written by threads of the client's, too. */
  private volatile String unreadable = "";

  WholePartition(ReadBackSpec spec, int partition, ReadBackSink sink, Discards discards) {
    this.spec = spec;
    this.partition = partition;
    this.sink = sink;
    this.discards = discards;
    this.next = spec.fromOf(partition);
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

  PartitionRead read(PulsarClient client, Entries entries, String fullName) throws DriverException {
    boolean complete = false;
    boolean oneByOne = false;
    String why = "";
    while (!complete && why.isEmpty() && (end == null || spec.leftMs() > 0)) {
      try {
        complete = readOn(client, fullName, oneByOne ? 1 : QUEUE_MESSAGES);
        if (!complete && oneByOne) {
          passOver(entries, fullName);
        }
      } catch (DriverException e) {
        if (end == null) {
          throw e;
        }
        why = e.getMessage();
      }
      oneByOne = !oneByOne;
    }
    if (!complete && why.isEmpty()) {
      why = "not read to its end in time";
    }
    PartitionRead read =
        new PartitionRead(spec.topicIndex(), partition, messages, complete, why, first, words(end));
    return unreadable.isEmpty() ? read : read.doubted(unreadable);
  }

  private boolean readOn(PulsarClient client, String fullName, int queueMessages)
      throws DriverException {
    String subscription = "tg-read-back-" + UUID.randomUUID();
    discards.watch(
        fullName,
        subscription,
        entry -> unreadable = "Pulsar's client discarded " + entry + ", which came damaged");
    try {
      return readOn(open(client, fullName, subscription, queueMessages), fullName);
    } finally {
      discards.forget(fullName, subscription);
    }
  }

  private boolean readOn(Reader<byte[]> reader, String fullName) throws DriverException {
    try {
      end = end == null ? end(reader, fullName) : end;
      return readTo(reader);
    } catch (PulsarClientException e) {
      throw Failures.describe("read on", e);
    } finally {
      Closing.quietly(reader.closeAsync(), CLOSE_TIMEOUT_MS);
    }
  }

  private Reader<byte[]> open(
      PulsarClient client, String fullName, String subscription, int queueMessages)
      throws DriverException {
    ReaderBuilder<byte[]> reader =
        client
            .newReader()
            .topic(fullName)
            .readerName("tg-read-back")
            .subscriptionName(subscription)
            .receiverQueueSize(queueMessages)
            .startMessageId(last == null ? start(next) : last);
    return Failures.await(
        (last == null ? reader.startMessageIdInclusive() : reader).createAsync(),
        "read back " + fullName,
        Math.max(1, spec.leftMs()));
  }

  private MessageIdAdv end(Reader<byte[]> reader, String fullName) throws DriverException {
    return (MessageIdAdv)
        Failures.await(
                reader.getLastMessageIdsAsync(),
                "report the end of " + fullName,
                Math.max(1, spec.leftMs()))
            .get(0);
  }

  /** False if time is up, or if nothing has come for a while that should have. */
  private boolean readTo(Reader<byte[]> reader) throws PulsarClientException {
    long newestNs = System.nanoTime();
    while (spec.leftMs() > 0
        && System.nanoTime() - newestNs < TimeUnit.MILLISECONDS.toNanos(SILENCE_MS_MAX)) {
      Message<byte[]> message = reader.readNext(POLL_MS, TimeUnit.MILLISECONDS);
      if (message == null) {
        // An empty partition, or what is last there is none of ours (a marker of the broker's).
        if (!reader.hasMessageAvailable()) {
          return true;
        }
        continue;
      }
      newestNs = System.nanoTime();
      MessageIdAdv id = (MessageIdAdv) message.getMessageId();
      byte[] value = message.getData() == null ? NO_BYTES : message.getData();
      int within = Math.max(0, id.getBatchIndex());
      sink.found(spec.topicIndex(), partition, position(id), within, value);
      first = messages++ == 0 ? words(id) : first;
      last = isEntryRead(id) ? null : id;
      next = position(id) + 1;
      if (isLast(id, end)) {
        return true;
      }
    }
    return false;
  }

  /** The next entry, if that is what the broker can't read. */
  private void passOver(Entries entries, String fullName) throws DriverException {
    if (next < 0) {
      return;
    }
    MessageIdAdv id = (MessageIdAdv) start(next);
    String refusal = entries.refusal(fullName, id.getLedgerId(), id.getEntryId());
    if (!refusal.isEmpty()) {
      unreadable = unreadable.isEmpty() ? refusal : unreadable;
      last = null;
      next++;
    }
  }

  /** Whether nothing of what was there is left after it, its batch included. */
  static boolean isLast(MessageIdAdv id, MessageIdAdv end) {
    if (end.getEntryId() < 0) {
      return false;
    }
    return position(id) > position(end) || position(id) == position(end) && isEntryRead(id);
  }

  /** Whether it is the last message of its entry. */
  private static boolean isEntryRead(MessageIdAdv id) {
    return id.getBatchSize() <= 1 || id.getBatchIndex() == id.getBatchSize() - 1;
  }

  private static String words(MessageIdAdv id) {
    return "ledger " + id.getLedgerId() + " entry " + id.getEntryId();
  }
}
