package io.tidegauge.worker.engine.load;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Keys of messages, drawn by rules whose frequencies are known. */
class KeysTest {
  private static final int MESSAGES = 1_000_000;

  /** Chi-square over 100 keys: with 99 degrees of freedom it is above 170 once in 100,000 times. */
  @ParameterizedTest
  @CsvSource({"ZIPF, 0.99", "ZIPF, 2", "ZIPF, 0.01", "RANDOM, 0"})
  void keysComeAsOftenAsTheirRankSays(Keys.Choice choice, double exponent) {
    int count = 100;
    Keys.Rule rule = Keys.Rule.of(choice, count, 42, exponent);
    long[] times = new long[count];
    for (long sequence = 0; sequence < MESSAGES; sequence++) {
      times[rule.indexOf(3, sequence)]++;
    }
    double sum = 0;
    for (int i = 0; i < count; i++) {
      sum += Math.pow(i + 1.0, -exponent);
    }
    double chiSquare = 0;
    for (int i = 0; i < count; i++) {
      double expected = MESSAGES * Math.pow(i + 1.0, -exponent) / sum;
      chiSquare += (times[i] - expected) * (times[i] - expected) / expected;
    }
    assertThat(chiSquare).isBetween(40.0, 170.0);
  }

  @ParameterizedTest
  @CsvSource({"1", "2", "3", "1000000"})
  void anyNumberOfKeysCanBeDrawnFrom(int count) {
    Zipf zipf = new Zipf(count, 1);
    assertThat(zipf.at(0)).isZero();
    assertThat(zipf.at(-1)).isBetween(0, count - 1);
  }
}
