package io.tidegauge.worker.engine.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Hand-written histories with known answers. */
class CheckerTest {
  private static final long TRIAL = 99;
  private static final int BYTES = 200;

  private final PayloadPool pool = PayloadPool.seeded(1, BYTES, 1, 4);
  private final ErrorLog errors = new ErrorLog();
  private Window window = new Window(1, 0, Long.MAX_VALUE);
  private final CheckContext context = new CheckContext(TRIAL, pool, () -> window, errors);
  private final Subscription alone = new Subscription("sub-0", 2, false);
  private final ConsumerChecker consumer =
      new ConsumerChecker(alone, context, 0, 2, Order.byPartition(2, 4));

  private byte[] message(int producer, long sequence) {
    byte[] value = pool.newValue(TRIAL, producer, (int) (sequence % 4));
    MessageHeader.writeMessage(value, sequence, 1_000);
    return value;
  }

  private static void give(ConsumerChecker to, int partition, byte[] value) {
    // Not at the array's beginning, as clients do.
    byte[] array = new byte[value.length + 7];
    System.arraycopy(value, 0, array, 7, value.length);
    to.received(0, partition, array, 7, value.length, 5_000);
  }

  private void give(int... sequences) {
    for (int s : sequences) {
      give(consumer, 0, message(0, s));
    }
  }

  private long sum(int counter) {
    return alone.sum(counter);
  }

  private static String example(int producer, long sequence) {
    return "producer " + producer + " sequence " + sequence;
  }

  private static Losses lost(Subscription s, long sent, long... unknown) {
    SequenceSet noOutcome = new SequenceSet(false);
    SequenceSet.Cursor cursor = noOutcome.cursor();
    for (long sequence : unknown) {
      cursor.add(sequence);
    }
    return Losses.find(sent, s.received(0), noOutcome, 10);
  }

  @Test
  void allInOrder() {
    give(0, 1, 2, 3);
    assertThat(sum(ReceiveRecorder.UNIQUE)).isEqualTo(4);
    assertThat(
            sum(ReceiveRecorder.DUPLICATED)
                + sum(ReceiveRecorder.REORDERED)
                + sum(ReceiveRecorder.CORRUPT)
                + sum(ReceiveRecorder.FOREIGN))
        .isZero();
    assertThat(lost(alone, 4).count()).isZero();
  }

  @Test
  void aGapIsALossAndLaterOnesAreInOrder() {
    give(0, 2, 3, 5);
    assertThat(lost(alone, 6)).isEqualTo(new Losses(2, List.of(1L, 4L)));
    assertThat(sum(ReceiveRecorder.REORDERED)).isZero();
  }

  @Test
  void theLastMessagesMissingAreLost() {
    give(0, 1);
    assertThat(lost(alone, 5)).isEqualTo(new Losses(3, List.of(2L, 3L, 4L)));
  }

  @Test
  void whatHasNoOutcomeIsNeverLost() {
    give(0, 2);
    assertThat(lost(alone, 4, 1, 3).count()).isZero();
  }

  @Test
  void aDuplicateIsNotReordered() {
    give(0, 1, 2, 1, 1, 3);
    assertThat(sum(ReceiveRecorder.DUPLICATED)).isEqualTo(2);
    assertThat(alone.duplicated().all()).containsExactly(example(0, 1), example(0, 1));
    assertThat(sum(ReceiveRecorder.REORDERED)).isZero();
    assertThat(sum(ReceiveRecorder.UNIQUE)).isEqualTo(4);
  }

  @Test
  void aSwapIsOneReordered() {
    give(0, 2, 1, 3, 4);
    assertThat(sum(ReceiveRecorder.REORDERED)).isEqualTo(1);
    assertThat(alone.reordered().all()).containsExactly(example(0, 1));
    assertThat(lost(alone, 5).count()).isZero();
  }

  @Test
  void oneLateMessageAfterThreeIsOneReordered() {
    give(0, 2, 3, 4, 1);
    assertThat(sum(ReceiveRecorder.REORDERED)).isEqualTo(1);
  }

  @Test
  void faultsAreBlamedOnTheProducerByItsNumberInTheTrial() {
    Subscription whole = new Subscription("sub-0", 7, false);
    ConsumerChecker ofSecondTopic =
        new ConsumerChecker(whole, context, 4, 3, Order.byPartition(3, 4));
    byte[] damaged = message(6, 9);
    damaged[60] ^= 1;
    for (byte[] value : List.of(message(4, 1), message(4, 0), message(5, 3), message(5, 3))) {
      give(ofSecondTopic, 0, value);
    }
    give(ofSecondTopic, 0, damaged);
    assertThat(whole.reordered().all()).containsExactly(example(4, 0));
    assertThat(whole.duplicated().all()).containsExactly(example(5, 3));
    assertThat(whole.corrupt().all()).containsExactly(example(6, 9));
  }

  @Test
  void orderIsByProducerAndPartition() {
    give(consumer, 0, message(0, 5));
    give(consumer, 1, message(0, 3));
    give(consumer, 0, message(1, 2));
    give(consumer, 1, message(0, 4));
    assertThat(sum(ReceiveRecorder.REORDERED)).isZero();
  }

  @Test
  void aFlipInTheBodyIsCorruptAndReceived() {
    for (int i = 48; i < BYTES; i += 13) {
      byte[] value = message(0, i);
      value[i] ^= 0x40;
      give(consumer, 0, value);
    }
    assertThat(sum(ReceiveRecorder.CORRUPT)).isEqualTo(12);
    assertThat(alone.corrupt().all())
        .hasSize(Examples.MAX)
        .startsWith(example(0, 48), example(0, 61));
    assertThat(sum(ReceiveRecorder.CORRUPT_UNATTRIBUTED)).isZero();
    assertThat(sum(ReceiveRecorder.UNIQUE)).isEqualTo(12);
  }

  @Test
  void aFlipAnywhereInTheHeaderIsCorrupt() {
    for (int i = 0; i < 48; i++) {
      byte[] value = message(0, i);
      value[i] ^= 0x01;
      give(consumer, 0, value);
    }
    assertThat(sum(ReceiveRecorder.CORRUPT)).isEqualTo(48);
    // In the first four bytes, the magic number, the rest still says which message it is.
    assertThat(sum(ReceiveRecorder.CORRUPT_UNATTRIBUTED)).isEqualTo(44);
    assertThat(alone.corrupt().all())
        .containsExactly(example(0, 0), example(0, 1), example(0, 2), example(0, 3));
    assertThat(sum(ReceiveRecorder.UNIQUE)).isEqualTo(4);
  }

  @Test
  void aTruncatedMessageIsCorrupt() {
    byte[] value = message(0, 0);
    consumer.received(0, 0, value, 0, 120, 5_000);
    consumer.received(0, 0, value, 0, 20, 5_000);
    assertThat(sum(ReceiveRecorder.CORRUPT)).isEqualTo(2);
    assertThat(sum(ReceiveRecorder.CORRUPT_UNATTRIBUTED)).isEqualTo(1);
    assertThat(sum(ReceiveRecorder.RECEIVED)).isEqualTo(2);
  }

  @Test
  void messagesOfOthersAreForeign() {
    byte[] otherTrial = pool.newValue(TRIAL + 1, 0, 0);
    MessageHeader.writeMessage(otherTrial, 0, 0);
    give(consumer, 0, otherTrial);
    give(consumer, 0, message(2, 0));
    give(consumer, 0, new byte[60]);
    give(consumer, 0, new byte[0]);
    assertThat(sum(ReceiveRecorder.FOREIGN)).isEqualTo(4);
    assertThat(sum(ReceiveRecorder.CORRUPT) + sum(ReceiveRecorder.UNIQUE)).isZero();
  }

  @Test
  void bodiesOfAnotherPoolAreCheckedByTheirChecksum() {
    PayloadPool larger = PayloadPool.seeded(1, BYTES, 1, 40);
    byte[] value = larger.newValue(TRIAL, 0, 30);
    MessageHeader.writeMessage(value, 0, 0);
    give(consumer, 0, value);
    assertThat(sum(ReceiveRecorder.CORRUPT)).isZero();
    value[100] ^= 1;
    give(consumer, 0, value);
    assertThat(sum(ReceiveRecorder.CORRUPT)).isEqualTo(1);
  }

  @Test
  void aSubscriptionIsTheUnionOfItsConsumers() {
    Subscription shared = new Subscription("sub-0", 2, true);
    ConsumerChecker a = new ConsumerChecker(shared, context, 0, 2, Order.byPartition(2, 4));
    ConsumerChecker b = new ConsumerChecker(shared, context, 0, 2, Order.byPartition(2, 4));
    give(a, 0, message(0, 0));
    give(b, 1, message(0, 1));
    give(a, 0, message(0, 2));
    // Given again to the other, as after a rebalance.
    give(b, 0, message(0, 2));
    give(b, 1, message(0, 4));
    assertThat(shared.sum(ReceiveRecorder.UNIQUE)).isEqualTo(4);
    assertThat(shared.sum(ReceiveRecorder.DUPLICATED)).isEqualTo(1);
    assertThat(lost(shared, 5)).isEqualTo(new Losses(1, List.of(3L)));
  }

  @Test
  void latencyBelowZeroIsCountedAndNotDropped() {
    byte[] value = pool.newValue(TRIAL, 0, 0);
    MessageHeader.writeMessage(value, 0, 6_000);
    give(consumer, 0, value);
    assertThat(sum(ReceiveRecorder.NEGATIVE_LATENCY)).isEqualTo(1);
    assertThat(alone.windowReceived(1)).isEqualTo(1);
  }

  @Test
  void theWindowIsByIntendedTime() {
    window = new Window(1, 2_000, 3_000);
    for (int i = 0; i < 5; i++) {
      byte[] value = pool.newValue(TRIAL, 0, 0);
      MessageHeader.writeMessage(value, i, 1_000 + i * 500L);
      give(consumer, 0, value);
    }
    assertThat(alone.windowReceived(1)).isEqualTo(2);
    // Another beginning: those before do not count.
    window = window.next(2_500, 0);
    give(5);
    assertThat(alone.windowReceived(1)).isZero();
    assertThat(alone.windowReceived(2)).isZero();
    byte[] value = pool.newValue(TRIAL, 0, 0);
    MessageHeader.writeMessage(value, 6, 2_600);
    give(consumer, 0, value);
    assertThat(alone.windowReceived(2)).isEqualTo(1);
  }

  @Test
  void whatClientsThrowAwayIsAnErrorAndAddedUp() {
    assertThat(alone.discardedMax()).isZero();
    consumer.discarded(3, new IllegalStateException("it came damaged"));
    consumer.discarded(4, new IllegalStateException("it came damaged"));
    assertThat(alone.discardedMax()).isEqualTo(7);
    assertThat(errors.all())
        .containsExactly(
            new ErrorLog.ErrorCount("receive", "IllegalStateException: it came damaged", 2));
  }

  @Test
  void consumerErrorsAreKept() {
    consumer.error(new IllegalStateException("broken"));
    assertThat(errors.all())
        .containsExactly(new ErrorLog.ErrorCount("receive", "IllegalStateException: broken", 1));
  }
}
