package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.engine.history.HistoryFile;
import java.io.UncheckedIOException;

/**
 * A message whose sending and outcome are written to a history before they count. An
 * acknowledgement that can't be written down counts as a failure.
 */
final class RecordedSlot extends Slot {
  private final HistoryFile history;
  private int partition = -1;
  private long position = -1;

  RecordedSlot(Producer owner, byte[] ownValue, HistoryFile history) {
    super(owner, ownValue);
    this.history = history;
  }

  @Override
  void fill(byte[] newValue, byte[] newKey, long newSequence, long intended, long sent) {
    partition = -1;
    position = -1;
    history.invoked(newSequence, sent);
    super.fill(newValue, newKey, newSequence, intended, sent);
  }

  @Override
  public void at(int newPartition, long newPosition) {
    partition = newPartition;
    position = newPosition;
  }

  @Override
  public void acked(long now) {
    try {
      if (isInFlight()) {
        history.acknowledged(sequence(), now, partition, position);
      }
    } catch (UncheckedIOException e) {
      super.failed(e);
      return;
    }
    super.acked(now);
  }

  @Override
  public void failed(Throwable cause) {
    try {
      if (isInFlight()) {
        history.unknown(sequence(), System.nanoTime(), partition);
      }
    } catch (UncheckedIOException e) {
      // Without a record its outcome is unknown all the same.
    }
    super.failed(cause);
  }

  @Override
  public void refused(Throwable cause) {
    try {
      if (isInFlight()) {
        history.refused(sequence(), System.nanoTime(), partition);
      }
    } catch (UncheckedIOException e) {
      // Without a record its outcome is unknown, which claims less.
    }
    super.failed(cause);
  }
}
