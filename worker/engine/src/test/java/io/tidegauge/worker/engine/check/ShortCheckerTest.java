package io.tidegauge.worker.engine.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.histogram.HistogramEncoder;
import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import io.tidegauge.worker.engine.message.PayloadPool;
import io.tidegauge.worker.engine.message.ShortMessage;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is seen of messages that have no room for a header. */
class ShortCheckerTest {
  private static final long TRIAL = 99;
  private final Window window = new Window(1, 0, Long.MAX_VALUE);
  private final Subscription alone = new Subscription("sub-0", 1, false);

  private ConsumerChecker checker(int bytes) {
    PayloadPool pool = PayloadPool.seeded(1, bytes, 1, 1);
    CheckContext context = new CheckContext(TRIAL, pool, () -> window, new ErrorLog());
    return new ConsumerChecker(alone, context, 0, 1, Order.byPartition(1, 1));
  }

  private static byte[] message(int bytes, long sequence) {
    byte[] value = new byte[bytes];
    ShortMessage.write(value, TRIAL, 0, sequence, 1_000_000);
    return value;
  }

  private static void give(ConsumerChecker to, byte[] value) {
    byte[] array = new byte[value.length + 7];
    System.arraycopy(value, 0, array, 7, value.length);
    to.received(0, 0, array, 7, value.length, 5_000_000);
  }

  private long lost(long sent) {
    return Losses.find(sent, alone.received(0), new SequenceSet(false), 10).count();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 7, 8, 10, 15, 16, 47})
  void lossRepeatsAndOrderAreSeenAtEachSize(int bytes) {
    ConsumerChecker checker = checker(bytes);
    for (int sequence = 0; sequence < 1_000; sequence++) {
      if (sequence != 17 && sequence != 500) {
        give(checker, message(bytes, sequence));
      }
    }
    assertThat(lost(1_000)).isEqualTo(2);
    give(checker, message(bytes, 998));
    give(checker, message(bytes, 1_001));
    give(checker, message(bytes, 1_000));
    assertThat(alone.sum(ReceiveRecorder.UNIQUE)).isEqualTo(1_000);
    assertThat(alone.sum(ReceiveRecorder.WINDOW_RECEIVED)).isEqualTo(1_000);
    assertThat(alone.sum(ReceiveRecorder.DUPLICATED)).isEqualTo(1);
    assertThat(alone.sum(ReceiveRecorder.REORDERED)).isEqualTo(1);
    assertThat(alone.sum(ReceiveRecorder.CORRUPT)).isZero();
    assertThat(alone.sum(ReceiveRecorder.FOREIGN)).isZero();
  }

  @ParameterizedTest
  @ValueSource(ints = {10, 16})
  void onlyThoseWithATimeHaveEndToEndTimes(int bytes) throws Exception {
    ConsumerChecker checker = checker(bytes);
    give(checker, message(bytes, 0));
    List<LatencyHistogram> times = new ArrayList<>();
    checker.recorder().addEndToEnd(times);
    ByteBuffer encoded = ByteBuffer.wrap(new HistogramEncoder().encode(times));
    Histogram recorded = Histogram.decodeFromCompressedByteBuffer(encoded, 1);
    assertThat(recorded.getTotalCount()).isEqualTo(bytes == 16 ? 1 : 0);
    assertThat(recorded.getMaxValue()).isBetween(0L, bytes == 16 ? 4_010_000L : 0L);
  }

  @Test
  void damageIsSeenWhereThereIsAChecksumAndAnotherLengthAlways() {
    ConsumerChecker checker = checker(20);
    byte[] damaged = message(20, 3);
    damaged[18] ^= 1;
    give(checker, damaged);
    assertThat(alone.sum(ReceiveRecorder.CORRUPT_UNATTRIBUTED)).isEqualTo(1);
    give(checker, new byte[19]);
    assertThat(alone.sum(ReceiveRecorder.FOREIGN)).isEqualTo(1);
    assertThat(alone.sum(ReceiveRecorder.UNIQUE)).isZero();
  }

  @Test
  void whoIsNoProducerOfTheTopicIsForeign() {
    byte[] other = new byte[10];
    ShortMessage.write(other, TRIAL, 5, 0, 0);
    give(checker(10), other);
    assertThat(alone.sum(ReceiveRecorder.FOREIGN)).isEqualTo(1);
  }
}
