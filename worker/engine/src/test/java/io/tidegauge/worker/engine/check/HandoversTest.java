package io.tidegauge.worker.engine.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Who hands over, and for how long it was busy: hand-written histories with known answers. */
class HandoversTest {
  @Test
  void messagesCountForTheThreadThatHandedThemOver() throws Exception {
    ReceivingThreads threads = new ReceivingThreads();
    Handovers of = new Handovers(threads);
    assertThat(of.current()).isNull();
    long received = 0;
    try (Pool one = new Pool();
        Pool other = new Pool()) {
      for (Pool turn : List.of(one, one, other, one, other, other)) {
        long before = received++;
        turn.run(() -> of.arrived(before));
      }
    }
    assertThat(of.parts()).hasSize(2);
    assertThat(of.received(of.parts().get(0), received)).isEqualTo(3);
    assertThat(of.received(of.parts().get(1), received)).isEqualTo(3);
    assertThat(of.current()).isSameAs(of.parts().get(1));
  }

  @Test
  void consumersOnOneThreadShareIt() {
    ReceivingThreads threads = new ReceivingThreads();
    Handovers one = new Handovers(threads);
    Handovers other = new Handovers(threads);
    one.arrived(0);
    other.arrived(0);
    assertThat(one.current().thread()).isSameAs(other.current().thread());
    assertThat(new ReceivingThreads().current()).isNotSameAs(one.current().thread());
    threads.close();
  }

  /** A wait that is counted when it is over counts in seconds that it fits into. */
  @Test
  void whatDoesNotFitIntoASecondIsReportedWithTheNext() {
    AtomicLong busy = new AtomicLong(700);
    ReceivingThread thread = new ReceivingThread(busy::get, () -> {});
    assertThat(thread.busyNs(100)).isZero();
    busy.addAndGet(250);
    assertThat(thread.busyNs(100)).isEqualTo(100);
    busy.addAndGet(10);
    assertThat(thread.busyNs(100)).isEqualTo(100);
    assertThat(thread.busyNs(100)).isEqualTo(60);
    assertThat(thread.busyNs(100)).isZero();
  }

  /** A thread that can be asked to do something. */
  private static final class Pool implements AutoCloseable {
    private final ExecutorService executor = Executors.newSingleThreadExecutor();

    void run(Runnable task) throws Exception {
      executor.submit(task).get();
    }

    @Override
    public void close() {
      executor.shutdown();
    }
  }
}
