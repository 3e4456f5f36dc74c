package io.tidegauge.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.tidegauge.worker.engine.check.CheckContext;
import io.tidegauge.worker.engine.check.ForeignChecker;
import io.tidegauge.worker.engine.check.Subscription;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.message.PayloadPool;
import io.tidegauge.worker.engine.os.TaskClock;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * The busiest consumer is named, whoever its thread belongs to; times are compared, never reported.
 */
class BusiestConsumerTest {
  private static final long WORK_NS = 60_000_000;
  private static final long LITTLE_WORK_NS = 3_000_000;
  private static final long LONG_NS = 3_600_000_000_000L;

  private final Window window = new Window(1, 0, Long.MAX_VALUE);
  private final CheckContext context =
      new CheckContext(9, PayloadPool.seeded(1, 100, 1, 1), () -> window, new ErrorLog());
  private final List<Subscription> subscriptions =
      List.of(new Subscription("sub-0", 0, false), new Subscription("sub-1", 0, false));
  private final List<ForeignChecker> consumers = new ArrayList<>();
  private final List<ExecutorService> threads = new ArrayList<>();

  private BusiestConsumer make(int perSubscription, int topics) throws Exception {
    TaskClock clock = TaskClock.ofCurrentThread();
    burn(LITTLE_WORK_NS);
    assumeThat(clock.busyNs()).as("this kernel keeps no account of threads").isPositive();
    clock.close();
    for (int i = 0; i < perSubscription * topics * 2; i++) {
      int of = i / (perSubscription * topics);
      consumers.add(new ForeignChecker(subscriptions.get(of), context));
    }
    return busiest(perSubscription, topics);
  }

  private BusiestConsumer busiest(int perSubscription, int topics) {
    List<Integer> numbers = IntStream.range(0, perSubscription * topics).boxed().toList();
    return new BusiestConsumer(subscriptions, List.of(numbers, numbers), topics, perSubscription);
  }

  private ExecutorService thread() {
    threads.add(Executors.newSingleThreadExecutor());
    return threads.get(threads.size() - 1);
  }

  @AfterEach
  void end() {
    threads.forEach(ExecutorService::shutdownNow);
    context.threads().close();
  }

  private static void burn(long ns) {
    long until = System.nanoTime() + ns;
    while (System.nanoTime() < until) {
      Thread.onSpinWait();
    }
  }

  /** Several times, so that the kernel has counted all but the last. */
  private void receive(ExecutorService thread, int consumer, long workNs) throws Exception {
    for (int i = 0; i < 3; i++) {
      thread
          .submit(
              () -> {
                consumers.get(consumer).received(0, 0, new byte[10], 0, 10, 5_000);
                burn(workNs);
                return null;
              })
          .get();
      Thread.sleep(1);
    }
  }

  @Test
  void nobodyIsBusyBeforeAnythingCame() throws Exception {
    assertThat(make(1, 1).busiest(LONG_NS, List.of(5L, 5L))).isEqualTo(BusiestConsumer.Found.NONE);
  }

  @Test
  void theOneThatWorksIsNamedByItsSubscriptionNumberAndTopic() throws Exception {
    BusiestConsumer busiest = make(2, 2);
    receive(thread(), 1, LITTLE_WORK_NS);
    receive(thread(), 7, WORK_NS);
    BusiestConsumer.Found found = busiest.busiest(LONG_NS, List.of(0L, 0L));
    assertThat(found.consumer()).isEqualTo("sub-1 consumer 1 of topic 1");
    assertThat(found.busyNs()).isGreaterThan(WORK_NS);
  }

  @Test
  void aThreadThatServesSeveralIsSaidToBeShared() throws Exception {
    BusiestConsumer busiest = make(1, 1);
    ExecutorService shared = thread();
    receive(shared, 0, WORK_NS);
    receive(shared, 1, LITTLE_WORK_NS);
    assertThat(busiest.busiest(LONG_NS, List.of(0L, 0L)).consumer())
        .isEqualTo("sub-0 consumer 0 (on one thread with 1 more)");
  }

  @Test
  void timeOnSeveralThreadsAddsUp() throws Exception {
    BusiestConsumer busiest = make(1, 1);
    receive(thread(), 0, WORK_NS);
    receive(thread(), 1, WORK_NS);
    receive(thread(), 1, WORK_NS);
    assertThat(busiest.busiest(LONG_NS, List.of(0L, 0L)).consumer()).isEqualTo("sub-1 consumer 0");
  }

  /** In so short a second both have no time left: the one that is behind is named. */
  @Test
  void ofThoseWithoutTimeLeftTheOneBehindIsNamed() throws Exception {
    BusiestConsumer busiest = make(1, 1);
    receive(thread(), 0, WORK_NS);
    receive(thread(), 1, LITTLE_WORK_NS);
    assertThat(busiest.busiest(1_000_000, List.of(1L, 9L)).consumer())
        .isEqualTo("sub-1 consumer 0");
  }

  @Test
  void whatWasBeforeTheFirstSecondDoesNotCount() throws Exception {
    make(1, 1);
    receive(thread(), 0, WORK_NS);
    BusiestConsumer later = busiest(1, 1);
    receive(thread(), 1, LITTLE_WORK_NS);
    assertThat(later.busiest(LONG_NS, List.of(0L, 0L)).consumer()).isEqualTo("sub-1 consumer 0");
  }
}
