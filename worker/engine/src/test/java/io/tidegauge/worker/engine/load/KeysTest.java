package io.tidegauge.worker.engine.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
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

  @Test
  void linesOfAFileAreKeysInTurn(@TempDir Path directory) throws IOException {
    Path file = directory.resolve("keys.txt");
    Files.writeString(file, "müller\r\nmeier\n\nmüller\nschmidt");
    KeySet keys = KeySet.ofLines(file);
    Keys.Rule rule = keys.rule();
    assertThat(rule.count()).isEqualTo(3);
    List<String> given = new ArrayList<>();
    Keys ofProducer = new Keys(rule, keys.distinct(), 1);
    for (int sequence = 0; sequence < 5; sequence++) {
      byte[] key = ofProducer.next();
      assertThat(key).isEqualTo(keys.distinct()[rule.indexOf(1, sequence)]);
      given.add(new String(key, StandardCharsets.UTF_8));
    }
    assertThat(given).containsExactly("meier", "müller", "schmidt", "müller", "meier");
    Files.writeString(file, "\n\n");
    assertThatThrownBy(() -> KeySet.ofLines(file)).hasMessageContaining("is empty");
  }

  @ParameterizedTest
  @CsvSource({"1", "2", "3", "1000000"})
  void anyNumberOfKeysCanBeDrawnFrom(int count) {
    Zipf zipf = new Zipf(count, 1);
    assertThat(zipf.at(0)).isZero();
    assertThat(zipf.at(-1)).isBetween(0, count - 1);
  }
}
