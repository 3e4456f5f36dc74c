package io.tidegauge.worker.engine.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.util.List;
import java.util.function.LongPredicate;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.roaringbitmap.longlong.Roaring64NavigableMap;

/** What goes out is read back by the library's own reader of the portable format. */
class RoaringFormTest {
  private static final long MILLION = 1_000_000;

  private long bytes;
  private int parts;

  private Roaring64NavigableMap sent(SequenceSet set, long limit) throws Exception {
    Roaring64NavigableMap all = new Roaring64NavigableMap();
    RoaringForm form = new RoaringForm(set, limit);
    while (form.hasNext()) {
      byte[] part = form.next();
      Roaring64NavigableMap read = new Roaring64NavigableMap();
      read.deserializePortable(new DataInputStream(new ByteArrayInputStream(part)));
      all.or(read);
      bytes += part.length;
      parts++;
    }
    return all;
  }

  private static SequenceSet set(LongStream members) {
    SequenceSet set = new SequenceSet(false);
    SequenceSet.Cursor cursor = set.cursor();
    members.forEach(cursor::add);
    return set;
  }

  private static SequenceSet upTo(long limit, LongPredicate member) {
    return set(LongStream.range(0, limit).filter(member));
  }

  @Test
  void gapsAndFullChunksArriveAsTheyWere() throws Exception {
    SequenceSet set = upTo(MILLION, n -> n % 100 != 7 || n < 5 * SequenceSet.CHUNK);
    set.collapse();
    assertThat(set.isFull(4)).isTrue();
    Roaring64NavigableMap read = sent(set, Long.MAX_VALUE);
    for (long n = 0; n < MILLION; n++) {
      assertThat(read.contains(n)).isEqualTo(set.contains(n));
    }
    long gaps = LongStream.range(5 * SequenceSet.CHUNK, MILLION).filter(n -> n % 100 == 7).count();
    assertThat(read.getLongCardinality()).isEqualTo(MILLION - gaps);
    assertThat(parts).isEqualTo(1);
  }

  @Test
  void whatIsInOrderTakesNextToNothingAndGapsLittle() throws Exception {
    sent(upTo(MILLION, n -> true), Long.MAX_VALUE);
    assertThat(bytes).isLessThan(300);
    bytes = 0;
    sent(upTo(MILLION, n -> n % 100 != 7), Long.MAX_VALUE);
    assertThat(bytes).isLessThan(45_000);
  }

  @Test
  void sequencesBeyond32BitsComeInAPartOfTheirOwn() throws Exception {
    long[] members = {0, 65_535, (1L << 32) - 1, 1L << 32, (1L << 32) + 77, (1L << 33) + 70_000};
    Roaring64NavigableMap read = sent(set(LongStream.of(members)), Long.MAX_VALUE);
    assertThat(read.toArray()).containsExactly(members);
    assertThat(parts).isEqualTo(4);
  }

  @Test
  void aPartIsBoundedHoweverItsMembersLie() throws Exception {
    long span = (long) RoaringForm.CHUNKS_PER_PART * SequenceSet.CHUNK;
    SequenceSet set = upTo(span + 10, n -> n % 2 == 0);
    RoaringForm form = new RoaringForm(set, Long.MAX_VALUE);
    assertThat(form.next().length).isLessThan((8 << 20) + (64 << 10));
    assertThat(form.next().length).isLessThan(100);
    assertThat(form.hasNext()).isFalse();
  }

  @Test
  void whatIsNotBelowTheLimitIsLeftOut() throws Exception {
    SequenceSet set = upTo(200_000, n -> true);
    assertThat(sent(set, 70_001).getLongCardinality()).isEqualTo(70_001);
    assertThat(sent(set, 0).isEmpty()).isTrue();
    long far = (1L << 32) + 5;
    assertThat(sent(set(LongStream.of(3, far, far + 1)), far + 1).toArray())
        .containsExactly(3, far);
  }

  @Test
  void anEmptySetIsOneToo() throws Exception {
    SequenceSet none = new SequenceSet(false);
    assertThat(sent(none, Long.MAX_VALUE).isEmpty()).isTrue();
    assertThat(parts).isZero();
    byte[] empty = new RoaringForm(none, 5).next();
    assertThat(empty).containsExactly(new byte[8]);
    assertThat(List.of(sent(set(LongStream.of(9)), 5).isEmpty())).containsExactly(true);
  }
}
