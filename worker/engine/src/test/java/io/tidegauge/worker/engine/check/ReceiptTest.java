package io.tidegauge.worker.engine.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.histogram.HistogramEncoder;
import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import io.tidegauge.worker.engine.load.Keys;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

/** What is made of one message that a consumer received. */
class ReceiptTest {
  private static final int BYTES = 100;

  private final Window window = new Window(1, 0, Long.MAX_VALUE);

  /** A body that the pool does not know is judged by its checksum alone. */
  @Test
  void everyByteOfABodyIsChecked() {
    PayloadPool pool = PayloadPool.seeded(1, BYTES, 1, 1);
    CheckContext context = new CheckContext(9, pool, () -> window, new ErrorLog());
    Subscription subscription = new Subscription("sub-0", 1, false);
    ConsumerChecker checker = new ConsumerChecker(subscription, context, 0, 1, Order.NONE);
    for (int at = MessageHeader.BYTES; at < BYTES; at++) {
      byte[] value = pool.newValue(9, 0, 0);
      MessageHeader.writeMessage(value, at, 1_000);
      value[at] ^= 1;
      checker.received(0, 0, value, 0, BYTES, 5_000);
    }
    int bodyBytes = BYTES - MessageHeader.BYTES;
    assertThat(subscription.sum(ReceiveRecorder.CORRUPT)).isEqualTo(bodyBytes);
    assertThat(subscription.sum(ReceiveRecorder.UNIQUE)).isEqualTo(bodyBytes);
  }

  @Test
  void aNegativeLatencyIsCountedAndKept() throws Exception {
    ReceiveRecorder recorder = new ReceiveRecorder(new ReceivingThreads());
    recorder.unique(window, 2_000, 1_900);
    recorder.unique(window, 2_000, 2_500);
    assertThat(recorder.get(ReceiveRecorder.NEGATIVE_LATENCY)).isEqualTo(1);
    assertThat(recorder.get(ReceiveRecorder.WINDOW_RECEIVED)).isEqualTo(2);
    List<LatencyHistogram> parts = new ArrayList<>();
    recorder.addEndToEnd(1, parts);
    ByteBuffer encoded = ByteBuffer.wrap(new HistogramEncoder().encode(parts));
    Histogram latencies = Histogram.decodeFromCompressedByteBuffer(encoded, 1);
    assertThat(latencies.getTotalCount()).isEqualTo(2);
    assertThat(latencies.getMinValue()).isZero();
  }

  @Test
  void keysFollowFromTheProducersNumberInTheWholeTrial() {
    int producersFrom = 3;
    Keys.Rule keys = Keys.Rule.of(Keys.Choice.RANDOM, 2, 7, 0);
    long later = 1;
    while (keys.indexOf(producersFrom, later) != keys.indexOf(producersFrom, 0)
        || keys.indexOf(0, later) == keys.indexOf(0, 0)) {
      later++;
    }
    Order order = Order.byKey(producersFrom, 1, keys);
    assertThat(order.keeps(0, 0, later)).isTrue();
    assertThat(order.keeps(0, 0, 0)).isFalse();
  }
}
