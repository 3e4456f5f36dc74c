package io.tidegauge.worker.drivers;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.DriverException;
import java.util.List;
import org.junit.jupiter.api.Test;

class KeysTest {
  private static final List<String> VALID = List.of("linger.ms", "batch.size", "acks");

  @Test
  void aSlipOfThePenNamesTheNearestKey() {
    assertThatThrownBy(() -> Keys.check("Kafka", "producer setting", List.of("lingerMs"), VALID))
        .isInstanceOf(DriverException.class)
        .hasMessage("Kafka has no producer setting \"lingerMs\"; did you mean \"linger.ms\"?");
  }

  @Test
  void validKeysPass() {
    assertThatCode(() -> Keys.check("Kafka", "setting", VALID, VALID)).doesNotThrowAnyException();
  }
}
