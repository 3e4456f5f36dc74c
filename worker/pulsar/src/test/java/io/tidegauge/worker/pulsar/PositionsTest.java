package io.tidegauge.worker.pulsar;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.api.CommittedPosition;
import java.util.List;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.impl.BatchMessageIdImpl;
import org.apache.pulsar.client.impl.MessageIdImpl;
import org.junit.jupiter.api.Test;

/** Where subscriptions are and where a partition ends, of positions as brokers give them. */
class PositionsTest {
  private static MessageIdAdv inBatch(long entry, int index, int size) {
    return new BatchMessageIdImpl(7, entry, 0, index, size, null);
  }

  @Test
  void aPartitionEndsWithTheLastMessageOfItsLastBatch() {
    MessageIdAdv end = inBatch(9, 2, 3);
    assertThat(WholePartition.isLast(inBatch(8, 2, 3), end)).isFalse();
    assertThat(WholePartition.isLast(inBatch(9, 0, 3), end)).isFalse();
    assertThat(WholePartition.isLast(inBatch(9, 1, 3), end)).isFalse();
    assertThat(WholePartition.isLast(inBatch(9, 2, 3), end)).isTrue();
    assertThat(WholePartition.isLast(new MessageIdImpl(8, 0, 0), end)).isTrue();
  }

  @Test
  void aMessageOutsideABatchEndsThePartitionAlone() {
    MessageIdAdv end = new MessageIdImpl(7, 9, 0);
    assertThat(WholePartition.isLast(new MessageIdImpl(7, 8, 0), end)).isFalse();
    assertThat(WholePartition.isLast(new MessageIdImpl(7, 9, 0), end)).isTrue();
  }

  @Test
  void aCursorIsOnePastWhatItsSubscriptionHasAcknowledged() throws Exception {
    String stats =
        "{'cursors':{'b':{'markDeletePosition':'7:-1'},'c':{'markDeletePosition':'7:41'}}}";
    long ledger = 7L << 32;
    // The subscription "a" has no cursor: the others keep their own numbers.
    assertThat(Cursors.parsed(stats.replace('\'', '"'), 3, List.of("a", "b", "c")))
        .containsExactly(
            new CommittedPosition(1, 3, ledger), new CommittedPosition(2, 3, ledger + 42));
  }
}
