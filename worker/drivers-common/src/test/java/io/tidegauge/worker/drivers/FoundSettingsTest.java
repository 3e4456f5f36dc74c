package io.tidegauge.worker.drivers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.EffectiveSetting;
import org.junit.jupiter.api.Test;

class FoundSettingsTest {
  @Test
  void onlyAMissingRightLeavesSomethingUnknown() throws Exception {
    FoundSettings found = new FoundSettings();
    found.add("cluster", "nodes", 3).add("cluster", "name", null);
    assertThat(
            found.readOrMarkUnknown(
                "topic t", "partitions", "topic t", () -> found.add("topic t", "p", 1)))
        .isTrue();
    assertThat(
            found.readOrMarkUnknown(
                "broker 1",
                "configuration",
                "the configuration",
                () -> {
                  throw AccessException.noRight("not you", null);
                }))
        .isFalse();
    assertThat(found.all())
        .containsExactly(
            new EffectiveSetting("cluster", "nodes", "3", null),
            new EffectiveSetting("cluster", "name", "", null),
            new EffectiveSetting("topic t", "p", "1", null),
            new EffectiveSetting(
                "broker 1", "configuration", "unknown: no right to read the configuration", null));
    assertThatThrownBy(
            () ->
                found.readOrMarkUnknown(
                    "broker 1",
                    "configuration",
                    "the configuration",
                    () -> {
                      throw new AccessException("wrong password", null);
                    }))
        .hasMessage("wrong password");
  }
}
