package io.tidegauge.worker.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.RefusedException;
import io.tidegauge.worker.api.SettingsException;
import io.tidegauge.worker.api.SettingsException.Role;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.DisconnectException;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is made of the client's failures. */
class FailuresTest {
  @ParameterizedTest
  @ValueSource(classes = {PolicyViolationException.class, InvalidReplicationFactorException.class})
  void aBrokerThatWillNotIsRefusing(Class<? extends Exception> kind) throws Exception {
    assertThat(explained(kind)).isInstanceOf(RefusedException.class);
  }

  @ParameterizedTest
  @ValueSource(classes = {TimeoutException.class, DisconnectException.class})
  void aBrokerThatIsNotThereRefusesNothing(Class<? extends Exception> kind) throws Exception {
    assertThat(explained(kind)).isExactlyInstanceOf(DriverException.class);
  }

  @Test
  void aNewClientThatDoesNotTakeItsSettingsSaysWhose() {
    Exception refused = new ConfigException("acks must be all");
    assertThat(
            Failures.describeNew(
                Role.PRODUCER, "create a producer", new KafkaException("failed", refused)))
        .isInstanceOfSatisfying(
            SettingsException.class, e -> assertThat(e.role()).isEqualTo(Role.PRODUCER))
        .hasMessage("Kafka could not create a producer: acks must be all");
    assertThat(
            Failures.describeNew(Role.PRODUCER, "create a producer", new TimeoutException("late")))
        .isExactlyInstanceOf(DriverException.class);
  }

  private static DriverException explained(Class<? extends Exception> kind) throws Exception {
    Exception failure = kind.getConstructor(String.class).newInstance("words");
    return Failures.describe("create topic t", new ExecutionException(failure));
  }
}
