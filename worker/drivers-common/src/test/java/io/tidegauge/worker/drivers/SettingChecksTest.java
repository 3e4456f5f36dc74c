package io.tidegauge.worker.drivers;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.DriverException;
import java.util.List;
import org.junit.jupiter.api.Test;

class SettingChecksTest {
  private static final List<String> VALID = List.of("linger.ms", "batch.size", "acks");

  @Test
  void aSlipOfThePenNamesTheNearestKey() {
    assertThatThrownBy(
            () -> SettingChecks.checkNames("Kafka", "producer setting", List.of("lingerMs"), VALID))
        .isInstanceOf(DriverException.class)
        .hasMessage("Kafka has no producer setting \"lingerMs\"; did you mean \"linger.ms\"?");
  }

  @Test
  void validKeysPass() {
    assertThatCode(() -> SettingChecks.checkNames("Kafka", "setting", VALID, VALID))
        .doesNotThrowAnyException();
  }
}
