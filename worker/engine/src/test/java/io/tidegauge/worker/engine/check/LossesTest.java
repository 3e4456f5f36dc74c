package io.tidegauge.worker.engine.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Losses at the edges of words of 64 and chunks of 65,536. */
class LossesTest {
  private static final SequenceSet NONE = new SequenceSet(false);

  @ParameterizedTest
  @ValueSource(longs = {1, 63, 64, 65, 128, SequenceSet.CHUNK, SequenceSet.CHUNK + 64})
  void whereNothingCameAllIsLost(long sent) {
    assertThat(Losses.find(sent, NONE, NONE, 0).count()).isEqualTo(sent);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 63, 64, SequenceSet.CHUNK - 64, SequenceSet.CHUNK - 1})
  void aChunkIsFullOnlyWithEveryMessage(long missing) {
    SequenceSet received = new SequenceSet(false);
    SequenceSet.Cursor cursor = received.cursor();
    for (long n = 0; n < SequenceSet.CHUNK; n++) {
      if (n != missing) {
        cursor.add(n);
      }
    }
    received.collapse();
    assertThat(received.contains(missing)).isFalse();
    assertThat(Losses.find(SequenceSet.CHUNK, received, NONE, 2))
        .isEqualTo(new Losses(1, List.of(missing)));
  }
}
