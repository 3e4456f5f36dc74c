package io.tidegauge.worker.engine.history;

import io.tidegauge.worker.api.ReadBackSink;
import io.tidegauge.worker.engine.SequencesSink;
import io.tidegauge.worker.engine.check.RoaringForm;
import io.tidegauge.worker.engine.check.SequenceSet;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.ShortMessage;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/** Which sequences of a trial a reader finds in its topics, by producer. */
public final class Present implements ReadBackSink {
  private static final long SEQUENCE_MAX = 1L << 46;

  private final long trialId;
  private final int messageBytes;
  private final Map<Integer, SequenceSet> sets = new TreeMap<>();
  private final Map<Integer, SequenceSet.Cursor> cursors = new HashMap<>();

  /** Of messages of so many bytes, which must name their producer. */
  public Present(long trialId, int messageBytes) {
    this.trialId = trialId;
    this.messageBytes = messageBytes;
  }

  /**
   * One whose header is damaged has no name: it is none of those that are missing, for all we know.
   */
  @Override
  public synchronized void found(
      int topic, int partition, long position, int within, byte[] value) {
    if (ShortMessage.isShort(messageBytes)) {
      if (value.length == messageBytes
          && (messageBytes < ShortMessage.CHECKED_BYTES
              || ShortMessage.isIntact(value, 0, value.length, trialId))) {
        cursors
            .computeIfAbsent(ShortMessage.producer(value, 0), this::begin)
            .add(ShortMessage.sequence(value, 0));
      }
      return;
    }
    if (value.length < MessageHeader.BYTES
        || !MessageHeader.isOurs(value, 0)
        || MessageHeader.trialId(value, 0) != trialId) {
      return;
    }
    long sequence = MessageHeader.sequence(value, 0);
    if (sequence >= 0 && sequence < SEQUENCE_MAX) {
      cursors.computeIfAbsent(MessageHeader.producer(value, 0), this::begin).add(sequence);
    }
  }

  private SequenceSet.Cursor begin(int producer) {
    SequenceSet set = new SequenceSet(/* shared= */ false);
    sets.put(producer, set);
    return set.cursor();
  }

  /** Tells what was found, as what the subscription could have received. */
  public synchronized void tell(String subscription, SequencesSink sink)
      throws InterruptedException {
    for (Map.Entry<Integer, SequenceSet> one : sets.entrySet()) {
      RoaringForm form = new RoaringForm(one.getValue(), Long.MAX_VALUE);
      while (form.hasNext()) {
        sink.received(subscription, one.getKey(), form.next());
      }
    }
  }
}
