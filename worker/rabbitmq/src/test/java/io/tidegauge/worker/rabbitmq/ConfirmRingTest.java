package io.tidegauge.worker.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.api.InFlight;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ConfirmRingTest {
  private final ConfirmRing ring = new ConfirmRing(8);

  @Test
  void numbersBeginAtOneAsTheBrokersDo() {
    assertThat(ring.add(new Message())).isEqualTo(1);
    assertThat(ring.add(new Message())).isEqualTo(2);
  }

  @Test
  void aSingleConfirmSettlesOneMessage() {
    List<Message> sent = send(3);
    ring.acked(2, false);
    assertThat(outcomes(sent)).isEqualTo("-a-");
    ring.acked(2, false);
    assertThat(outcomes(sent)).isEqualTo("-a-");
  }

  @Test
  void aMultipleConfirmSettlesAllUpToItThatAreNotSettledYet() {
    List<Message> sent = send(5);
    ring.failed(2, false, new IOException("refused"));
    ring.acked(4, true);
    assertThat(outcomes(sent)).isEqualTo("afaa-");
    ring.acked(4, true);
    ring.acked(3, true);
    assertThat(outcomes(sent)).isEqualTo("afaa-");
  }

  @Test
  void confirmsOfNumbersThatWereNeverGivenChangeNothing() {
    List<Message> sent = send(2);
    ring.acked(7, false);
    ring.acked(0, false);
    ring.acked(Long.MAX_VALUE, true);
    assertThat(outcomes(sent)).isEqualTo("aa");
    List<Message> later = send(3);
    ring.acked(3, false);
    assertThat(outcomes(later)).isEqualTo("a--");
  }

  @Test
  void aMessageThatWasNotPublishedIsTakenBackOnce() {
    List<Message> sent = send(1);
    assertThat(ring.remove(1)).isTrue();
    assertThat(ring.remove(1)).isFalse();
    ring.acked(1, true);
    assertThat(outcomes(sent)).isEqualTo("-");
  }

  @Test
  void aLostChannelFailsWhatWaitsAndNothingElse() {
    List<Message> sent = send(4);
    ring.acked(3, false);
    ring.failAll(new IOException("gone"));
    assertThat(outcomes(sent)).isEqualTo("ffaf");
    ring.failAll(new IOException("gone"));
    assertThat(outcomes(sent)).isEqualTo("ffaf");
  }

  @Test
  void theRingDoesNotGrowAsLongAsConfirmsKeepUp() {
    int capacity = ring.capacity();
    for (int i = 1; i <= 10_000; i++) {
      ring.add(new Message());
      ring.acked(i, i % 3 == 0);
    }
    assertThat(ring.capacity()).isEqualTo(capacity);
  }

  @Test
  void oneMessageThatWaitsLongIsNotOverwritten() {
    Message slow = new Message();
    ring.add(slow);
    List<Message> others = new ArrayList<>();
    for (int number = 2; number <= 1_000; number++) {
      Message one = new Message();
      ring.add(one);
      ring.acked(number, false);
      others.add(one);
    }
    assertThat(slow.outcomes).isEmpty();
    assertThat(others).allMatch(one -> one.outcomes.toString().equals("a"));
    assertThat(ring.capacity()).isGreaterThanOrEqualTo(1_000);
    ring.acked(1, false);
    assertThat(slow.outcomes).hasToString("a");
  }

  @Test
  void everyMessageHasOneOutcomeHoweverConfirmsCome() throws InterruptedException {
    int count = 200_000;
    int window = 64;
    ConfirmRing shared = new ConfirmRing(window);
    Semaphore free = new Semaphore(window);
    AtomicInteger[] outcomesOf = new AtomicInteger[count];
    ArrayDeque<Long> published = new ArrayDeque<>();
    Thread broker = new Thread(() -> confirmAtRandom(shared, published, count));
    broker.start();
    for (int i = 0; i < count; i++) {
      AtomicInteger outcomes = new AtomicInteger();
      outcomesOf[i] = outcomes;
      free.acquire();
      long number = shared.add(new Counting(outcomes, free));
      synchronized (published) {
        published.add(number);
        published.notifyAll();
      }
    }
    broker.join();
    assertThat(outcomesOf).allMatch(outcomes -> outcomes.get() == 1);
  }

  /** Confirms singly, out of order, or all up to a number, as brokers do. */
  private static void confirmAtRandom(ConfirmRing ring, ArrayDeque<Long> published, int count) {
    Random random = new Random(1);
    long highest = 0;
    while (highest < count) {
      List<Long> taken = new ArrayList<>();
      synchronized (published) {
        while (published.isEmpty()) {
          try {
            published.wait();
          } catch (InterruptedException e) {
            return;
          }
        }
        while (!published.isEmpty() && taken.size() < 1 + random.nextInt(20)) {
          taken.add(published.poll());
        }
      }
      highest = taken.get(taken.size() - 1);
      if (random.nextBoolean()) {
        Collections.shuffle(taken, random);
        taken.forEach(number -> ring.acked(number, false));
      } else {
        ring.acked(highest, true);
      }
    }
  }

  @Test
  void whatIsOldCanBeGivenUpAndALateConfirmOfItChangesNothing() {
    assertThat(ring.newest()).isZero();
    List<Message> sent = send(2);
    long old = ring.newest();
    sent.addAll(send(2));
    ring.acked(1, false);
    ring.failed(old, true, new IOException("no confirm"));
    assertThat(outcomes(sent)).isEqualTo("af--");
    ring.acked(2, false);
    ring.acked(4, true);
    assertThat(outcomes(sent)).isEqualTo("afaa");
  }

  private List<Message> send(int count) {
    List<Message> sent = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      sent.add(new Message());
      ring.add(sent.get(i));
    }
    return sent;
  }

  private static String outcomes(List<Message> sent) {
    StringBuilder all = new StringBuilder();
    sent.forEach(one -> all.append(one.outcomes.length() == 0 ? "-" : one.outcomes));
    return all.toString();
  }

  /** Remembers its outcomes. */
  private static class Message extends InFlight {
    final StringBuilder outcomes = new StringBuilder();

    @Override
    public byte[] value() {
      return new byte[0];
    }

    @Override
    public byte[] key() {
      return null;
    }

    @Override
    public void acked() {
      outcomes.append('a');
    }

    @Override
    public void failed(Throwable cause) {
      outcomes.append('f');
    }
  }

  /** Makes room for another message once acknowledged. */
  private static final class Counting extends Message {
    private final AtomicInteger count;
    private final Semaphore free;

    Counting(AtomicInteger count, Semaphore free) {
      this.count = count;
      this.free = free;
    }

    @Override
    public void acked() {
      count.incrementAndGet();
      free.release();
    }
  }
}
