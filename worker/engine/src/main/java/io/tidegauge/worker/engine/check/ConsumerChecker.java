package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;
import io.tidegauge.worker.engine.message.ShortMessage;
import java.util.Arrays;
import java.util.function.Supplier;

/**
 * Checks every message that one consumer receives: that it is ours and intact, that it is new, that
 * it is in order. One thread at a time.
 *
 * <p>A damaged body counts as corrupt and its sequence as received. A damaged header counts as
 * corrupt and unattributed, since producer and sequence can't be trusted. A message is reordered if
 * it is new and came behind a later one that the subscription promises to deliver after it.
 */
public final class ConsumerChecker implements MessageSink {
  private static final long SEQUENCE_MAX = 1L << 46;

  private final Subscription subscription;
  private final ReceiveRecorder recorder;
  private final Supplier<Window> window;
  private final ErrorLog errors;
  private final PayloadPool pool;
  private final long trialId;
  private final int producersFrom;
  private final SequenceSet.Cursor[] cursors;
  private final Order order;
  private final OtherClocks clocks;
  private final boolean isShort;

  /** Null if messages are not processed. */
  private final Processing processing;

  /** When the message that is being checked was intended, by this host's clock; or unknown. */
  private long intendedNs;

  /** By partition, of messages that have only the low bytes of their sequence. */
  private long[] nextOf = {};

  /** Of producers whose clock is this host's. */
  public ConsumerChecker(
      Subscription subscription,
      CheckContext context,
      int producersFrom,
      int producers,
      Order order) {
    this(subscription, context, producersFrom, producers, order, OtherClocks.NONE);
  }

  /**
   * @param producersFrom number of the first producer of the consumer's topic
   * @param producers producers of that topic
   * @param order what the subscription promises
   * @param clocks those of the producers
   */
  public ConsumerChecker(
      Subscription subscription,
      CheckContext context,
      int producersFrom,
      int producers,
      Order order,
      OtherClocks clocks) {
    this.subscription = subscription;
    this.window = context.window();
    this.errors = context.errors();
    this.pool = context.pool();
    this.trialId = context.trialId();
    this.producersFrom = producersFrom;
    this.cursors = new SequenceSet.Cursor[producers];
    this.order = order;
    this.clocks = clocks;
    this.isShort = ShortMessage.isShort(pool.messageBytes());
    this.processing = processing(subscription, context);
    this.recorder = new ReceiveRecorder(context.threads(), processing != null);
    subscription.add(recorder);
  }

  /** How one more consumer of a subscription processes messages; null if it doesn't. */
  private static Processing processing(Subscription subscription, CheckContext context) {
    if (context.work().isNone()) {
      return null;
    }
    long seed = context.trialId() + subscription.recorders().size();
    return new Processing(context.work(), subscription::isProcessingEnded, seed);
  }

  @Override
  public void received(
      int topic, int partition, byte[] array, int offset, int length, long receivedMonoNs) {
    if (processing == null) {
      check(partition, array, offset, length, receivedMonoNs);
      return;
    }
    intendedNs = ReceiveRecorder.UNKNOWN_NS;
    check(partition, array, offset, length, receivedMonoNs);
    long beganNs = System.nanoTime();
    long endedNs = processing.process(beganNs, recorder.handovers().current().thread());
    recorder.processed(
        window.get(), intendedNs, receivedMonoNs, beganNs, endedNs, processing.cpuNs());
  }

  private void check(int partition, byte[] array, int offset, int length, long receivedMonoNs) {
    recorder.arrived(length);
    if (isShort) {
      receivedShort(partition, array, offset, length, receivedMonoNs);
      return;
    }
    if (!isHeaderGood(array, offset, length)) {
      return;
    }
    int producer = MessageHeader.producer(array, offset) - producersFrom;
    long sequence = MessageHeader.sequence(array, offset);
    if (MessageHeader.trialId(array, offset) != trialId
        || producer < 0
        || producer >= cursors.length
        || sequence < 0
        || sequence >= SEQUENCE_MAX) {
      recorder.count(ReceiveRecorder.FOREIGN);
      return;
    }
    if (!isBodyGood(array, offset, length)) {
      recorder.count(ReceiveRecorder.CORRUPT);
      subscription.corrupt().add(producersFrom + producer, sequence);
    }
    if (isNew(producer, partition, sequence)) {
      unique(producer, MessageHeader.intendedNs(array, offset), receivedMonoNs);
    }
  }

  /** Whether the sequence comes for the first time; counts repeats, and what comes too late. */
  private boolean isNew(int producer, int partition, long sequence) {
    if (!cursor(producer).add(sequence)) {
      recorder.count(ReceiveRecorder.DUPLICATED);
      subscription.duplicated().add(producersFrom + producer, sequence);
      return false;
    }
    if (!order.keeps(producer, partition, sequence)) {
      recorder.count(ReceiveRecorder.REORDERED);
      subscription.reordered().add(producersFrom + producer, sequence);
    }
    return true;
  }

  /** What a message without a whole header says is believed as far as it can be. */
  private void receivedShort(
      int partition, byte[] array, int offset, int length, long receivedMonoNs) {
    if (length != pool.messageBytes()) {
      recorder.count(ReceiveRecorder.FOREIGN);
      return;
    }
    boolean checked = length >= ShortMessage.CHECKED_BYTES;
    if (checked && !ShortMessage.isIntact(array, offset, length, trialId)) {
      recorder.count(ReceiveRecorder.CORRUPT);
      recorder.count(ReceiveRecorder.CORRUPT_UNATTRIBUTED);
      return;
    }
    boolean named = length >= ShortMessage.NAMED_BYTES;
    int producer = named ? ShortMessage.producer(array, offset) - producersFrom : 0;
    long sequence =
        named
            ? ShortMessage.sequence(array, offset)
            : ShortMessage.sequenceNear(array, offset, length, next(partition));
    if (producer < 0 || producer >= cursors.length || sequence < 0) {
      recorder.count(ReceiveRecorder.FOREIGN);
      return;
    }
    if (!named) {
      nextOf[partition] = Math.max(nextOf[partition], sequence + 1);
    }
    if (isNew(producer, partition, sequence)) {
      if (checked) {
        long sentClockNs = receivedMonoNs + clocks.aheadNs(producer);
        unique(producer, ShortMessage.intendedNs(array, offset, sentClockNs), receivedMonoNs);
      } else {
        recorder.uniqueUntimed(window.get(), receivedMonoNs);
      }
    }
  }

  /** The sequence after the highest of a partition. */
  private long next(int partition) {
    if (partition >= nextOf.length) {
      nextOf = Arrays.copyOf(nextOf, partition + 1);
    }
    return nextOf[partition];
  }

  private void unique(int producer, long intendedNs, long receivedNs) {
    long aheadNs = clocks.aheadNs(producer);
    if (aheadNs == 0) {
      this.intendedNs = intendedNs;
      recorder.unique(window.get(), intendedNs, receivedNs);
    } else {
      recorder.uniqueApart(window.get(), intendedNs - aheadNs, receivedNs, clocks.worker(producer));
    }
  }

  private boolean isHeaderGood(byte[] array, int offset, int length) {
    boolean whole = length >= MessageHeader.BYTES;
    boolean ours = length >= 4 && MessageHeader.magic(array, offset) == MessageHeader.MAGIC;
    boolean intact =
        whole && MessageHeader.headerCrc(array, offset) == MessageHeader.checksum(array, offset);
    if (ours && intact) {
      return true;
    }
    if (intact) {
      // Only the magic number is damaged.
      recorder.count(ReceiveRecorder.CORRUPT);
      subscription
          .corrupt()
          .add(MessageHeader.producer(array, offset), MessageHeader.sequence(array, offset));
      return true;
    }
    if (ours) {
      recorder.count(ReceiveRecorder.CORRUPT);
      recorder.count(ReceiveRecorder.CORRUPT_UNATTRIBUTED);
    } else {
      recorder.count(ReceiveRecorder.FOREIGN);
    }
    return false;
  }

  private boolean isBodyGood(byte[] array, int offset, int length) {
    if (MessageHeader.totalLength(array, offset) != length) {
      return false;
    }
    int bodyCrc = MessageHeader.bodyCrc(array, offset);
    return pool.matches(MessageHeader.bodyIndex(array, offset), bodyCrc, array, offset, length)
        || MessageHeader.isBodyIntact(array, offset, length);
  }

  private SequenceSet.Cursor cursor(int producer) {
    SequenceSet.Cursor cursor = cursors[producer];
    if (cursor == null) {
      cursor = subscription.received(producersFrom + producer).cursor();
      cursors[producer] = cursor;
    }
    return cursor;
  }

  @Override
  public void damaged(int topic, int partition, Throwable cause) {
    recorder.count(ReceiveRecorder.CORRUPT);
    recorder.count(ReceiveRecorder.CORRUPT_UNATTRIBUTED);
  }

  @Override
  public void discarded(long messagesMax, Throwable cause) {
    subscription.addDiscarded(messagesMax);
    error(cause);
  }

  @Override
  public void error(Throwable cause) {
    errors.add("receive", cause);
  }

  public ReceiveRecorder recorder() {
    return recorder;
  }
}
