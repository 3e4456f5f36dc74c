package io.tidegauge.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.engine.check.CheckContext;
import io.tidegauge.worker.engine.check.ForeignChecker;
import io.tidegauge.worker.engine.check.Subscription;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.message.PayloadPool;
import io.tidegauge.worker.proto.SubscriptionTotals;
import org.junit.jupiter.api.Test;

/** When figures are read, and how they are put together. */
class ReadingTest {
  private static final long SECOND_NS = 1_000_000_000L;

  @Test
  void secondsEndAtWholeSecondsFromTheStartHoweverLateTheReaderIs() {
    assertThat(Sampler.nextEndNs(SECOND_NS, SECOND_NS)).isEqualTo(2 * SECOND_NS);
    assertThat(Sampler.nextEndNs(SECOND_NS, SECOND_NS + 300)).isEqualTo(2 * SECOND_NS);
    assertThat(Sampler.nextEndNs(SECOND_NS, 4 * SECOND_NS + 300)).isEqualTo(5 * SECOND_NS);
  }

  @Test
  void useIsReadOnPastAnEndThatWasMoved() {
    long[] waited = new long[1];
    WindowUse use = new WindowUse(() -> waited[0]);
    use.set(new Window(1, 100, 200), 100);
    waited[0] = 10;
    use.pass(200);
    waited[0] = 30;
    assertThat(use.used().cpuWaitNs()).isEqualTo(10);
    use.set(new Window(1, 100, 400), 300);
    assertThat(use.nextEdgeNs()).isEqualTo(400);
    waited[0] = 50;
    assertThat(use.used().cpuWaitNs()).isEqualTo(50);
    // Another window begins anew.
    use.set(new Window(2, 500, 600), 500);
    waited[0] = 70;
    assertThat(use.used().cpuWaitNs()).isEqualTo(20);
  }

  @Test
  void othersMessagesBeginWithTheFirstOfAnyConsumer() {
    Window window = new Window(1, 0, Long.MAX_VALUE);
    PayloadPool pool = PayloadPool.seeded(1, 100, 1, 1);
    CheckContext context = new CheckContext(9, pool, () -> window, new ErrorLog());
    Subscription subscription = new Subscription("sub-0", 0, false);
    ForeignChecker first = new ForeignChecker(subscription, context);
    ForeignChecker second = new ForeignChecker(subscription, context);
    ForeignChecker idle = new ForeignChecker(subscription, context);
    first.received(0, 0, new byte[10], 0, 10, 100);
    second.received(0, 0, new byte[10], 0, 10, 300);
    first.received(0, 0, new byte[10], 0, 10, 200);
    assertThat(idle).isNotNull();
    SubscriptionTotals.Builder totals = SubscriptionTotals.newBuilder();
    TotalsReader.addReceipts(subscription, totals);
    assertThat(totals.getFirstReceivedMonoNs()).isEqualTo(100);
    assertThat(totals.getLastReceivedMonoNs()).isEqualTo(300);
    assertThat(totals.getVerified()).isZero();
    assertThat(totals.getReceivedBytes()).isEqualTo(30);
  }
}
