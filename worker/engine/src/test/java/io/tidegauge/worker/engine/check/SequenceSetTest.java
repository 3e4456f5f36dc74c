package io.tidegauge.worker.engine.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SequenceSetTest {
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void behavesAsASet(boolean shared) {
    SequenceSet ours = new SequenceSet(shared);
    SequenceSet.Cursor cursor = ours.cursor();
    Set<Long> theirs = new HashSet<>();
    SplittableRandom random = new SplittableRandom(5);
    for (int i = 0; i < 100_000; i++) {
      long n = random.nextLong(300_000);
      assertThat(cursor.add(n)).isEqualTo(theirs.add(n));
    }
    for (long n = 0; n < 300_000; n++) {
      assertThat(ours.contains(n)).isEqualTo(theirs.contains(n));
    }
    List<Long> members = new ArrayList<>();
    ours.forEach(300_000, members::add);
    assertThat(members).hasSameSizeAs(theirs).isSorted();
  }

  @Test
  void fullChunksTakeNoMemoryAndStillKnowTheirMembers() {
    SequenceSet set = new SequenceSet(false);
    SequenceSet.Cursor cursor = set.cursor();
    for (long n = 0; n < 10 * SequenceSet.CHUNK; n++) {
      if (n != 3 * SequenceSet.CHUNK + 17) {
        cursor.add(n);
      }
    }
    set.collapse();
    assertThat(set.bitmaps()).isEqualTo(1);
    assertThat(set.cursor().add(5)).isFalse();
    assertThat(cursor.add(5)).isFalse();
    assertThat(set.cursor().add(3 * SequenceSet.CHUNK + 17)).isTrue();
    set.collapse();
    assertThat(set.bitmaps()).isZero();
    assertThat(Losses.find(10L * SequenceSet.CHUNK, set, new SequenceSet(false), 1).count())
        .isZero();
  }

  @Test
  void memoryStaysBoundedWhileMessagesFlow() {
    SequenceSet set = new SequenceSet(false);
    SequenceSet.Cursor cursor = set.cursor();
    for (long n = 0; n < 5_000_000; n++) {
      cursor.add(n);
      if (n % 100_000 == 0) {
        set.collapse();
        assertThat(set.bitmaps()).isLessThanOrEqualTo(3);
      }
    }
  }

  @Test
  void threadsAddEachMemberOnce() throws Exception {
    SequenceSet set = new SequenceSet(true);
    AtomicLong added = new AtomicLong();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 3; t++) {
      Thread thread =
          new Thread(
              () -> {
                SequenceSet.Cursor cursor = set.cursor();
                long mine = 0;
                for (long n = 0; n < 400_000; n++) {
                  mine += cursor.add(n) ? 1 : 0;
                }
                added.addAndGet(mine);
              });
      thread.start();
      threads.add(thread);
    }
    while (threads.stream().anyMatch(Thread::isAlive)) {
      set.collapse();
    }
    assertThat(added.get()).isEqualTo(400_000);
  }

  @Test
  void commonMembersAreCounted() {
    SequenceSet a = new SequenceSet(false);
    SequenceSet b = new SequenceSet(false);
    SequenceSet.Cursor inA = a.cursor();
    SequenceSet.Cursor inB = b.cursor();
    for (long n = 0; n < 200_000; n++) {
      if (n % 2 == 0) {
        inA.add(n);
      }
      if (n % 3 == 0) {
        inB.add(n);
      }
    }
    assertThat(a.countCommon(b)).isEqualTo(33_334);
  }
}
