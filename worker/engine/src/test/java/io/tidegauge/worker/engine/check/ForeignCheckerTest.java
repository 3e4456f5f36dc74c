package io.tidegauge.worker.engine.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Messages of others are counted, those of earlier trials verified. */
class ForeignCheckerTest {
  private final PayloadPool pool = PayloadPool.seeded(1, 200, 1, 4);
  private final Subscription subscription = new Subscription("sub-0", 0, false);
  private final Window window = new Window(1, 1_000, Long.MAX_VALUE);
  private final ForeignChecker checker =
      new ForeignChecker(subscription, new CheckContext(7, pool, () -> window, new ErrorLog()));

  private void give(byte[] value, long atNs) {
    checker.received(0, 0, value, 0, value.length, atNs);
  }

  private byte[] ofAnEarlierTrial(long sequence) {
    byte[] value = pool.newValue(99, 0, (int) (sequence % 4));
    MessageHeader.writeMessage(value, sequence, 1);
    return value;
  }

  @Test
  void countsWhatOthersMadeAndClaimsNothing() {
    give("{\"order\": 1}".getBytes(StandardCharsets.UTF_8), 2_000);
    give(new byte[0], 3_000);
    give(new byte[500], 4_000);
    assertThat(subscription.sum(ReceiveRecorder.RECEIVED)).isEqualTo(3);
    assertThat(subscription.sum(ReceiveRecorder.RECEIVED_BYTES)).isEqualTo(512);
    assertThat(subscription.sum(ReceiveRecorder.FOREIGN)).isEqualTo(3);
    assertThat(subscription.sum(ReceiveRecorder.CORRUPT)).isZero();
    assertThat(subscription.sum(ReceiveRecorder.FIRST_RECEIVED_NS)).isEqualTo(2_000);
    assertThat(subscription.sum(ReceiveRecorder.LAST_RECEIVED_NS)).isEqualTo(4_000);
    assertThat(subscription.windowReceived(1)).isEqualTo(3);
  }

  @Test
  void verifiesWhatAnEarlierTrialMade() {
    give(ofAnEarlierTrial(0), 2_000);
    byte[] damaged = ofAnEarlierTrial(1);
    damaged[150] ^= 1;
    give(damaged, 3_000);
    byte[] cut = new byte[120];
    System.arraycopy(ofAnEarlierTrial(2), 0, cut, 0, cut.length);
    give(cut, 4_000);
    assertThat(subscription.sum(ReceiveRecorder.VERIFIED)).isEqualTo(3);
    assertThat(subscription.sum(ReceiveRecorder.CORRUPT)).isEqualTo(2);
    assertThat(subscription.sum(ReceiveRecorder.FOREIGN)).isZero();
  }
}
