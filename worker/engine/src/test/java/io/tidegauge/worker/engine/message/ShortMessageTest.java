package io.tidegauge.worker.engine.message;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ShortMessageTest {
  private static final long TRIAL = 0x123456789ABCDEFL;

  private static byte[] written(int bytes, int producer, long sequence, long intendedNs) {
    byte[] message = PayloadPool.seeded(1, bytes, 1, 1).newValue(TRIAL, producer, 0);
    ShortMessage.write(message, TRIAL, producer, sequence, intendedNs);
    return message;
  }

  @ParameterizedTest
  @ValueSource(ints = {8, 10, 15, 16, 47})
  void producerAndSequenceComeBack(int bytes) {
    byte[] message = written(bytes, 70_000, (1L << 40) - 1, 5);
    assertThat(message).hasSize(bytes);
    assertThat(ShortMessage.producer(message, 0)).isEqualTo(70_000);
    assertThat(ShortMessage.sequence(message, 0)).isEqualTo((1L << 40) - 1);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1_000_000, 3_600_000_000_000L, -2_000})
  void theTimeComesBackToAMicrosecondForAnHour(long agoNs) {
    long intended = 987_654_321_987_654_321L;
    byte[] message = written(16, 1, 2, intended);
    assertThat(ShortMessage.intendedNs(message, 0, intended + agoNs))
        .isBetween(intended - 1_100, intended + 1_100);
  }

  @ParameterizedTest
  @ValueSource(ints = {16, 20, 47})
  void eachDamagedBitIsNoticedAndSoIsAnotherTrial(int bytes) {
    byte[] message = written(bytes, 3, 4, 5);
    assertThat(ShortMessage.isIntact(message, 0, bytes, TRIAL)).isTrue();
    assertThat(ShortMessage.isIntact(message, 0, bytes, TRIAL + 1)).isFalse();
    for (int bit = 0; bit < 8 * bytes; bit++) {
      message[bit / 8] ^= (byte) (1 << (bit % 8));
      assertThat(ShortMessage.isIntact(message, 0, bytes, TRIAL)).as("bit %s", bit).isFalse();
      message[bit / 8] ^= (byte) (1 << (bit % 8));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "1, 0, 0",
    "1, 255, 256",
    "1, 300, 256",
    "1, 300, 427",
    "1, 300, 173",
    "1, 1000, 1001",
    "2, 70000, 65536",
    "7, 123456789012, 123456789000",
    "1, 5, 0"
  })
  void ofLowBytesTheNearestSequenceIsMeant(int bytes, long sequence, long expected) {
    byte[] message = written(bytes, 0, sequence, 0);
    assertThat(ShortMessage.sequenceNear(message, 0, bytes, expected)).isEqualTo(sequence);
  }

  @Test
  void aBodyIsWhatIsLeft() {
    byte[] message = written(20, 0, 0, 0);
    byte[] same = written(20, 1, 1, 1);
    assertThat(same).endsWith(message[16], message[17], message[18], message[19]);
  }
}
