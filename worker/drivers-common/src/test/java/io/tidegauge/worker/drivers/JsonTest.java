package io.tidegauge.worker.drivers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.DriverException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {
  @Test
  void whatIsReadIsWrittenAlike() throws Exception {
    String text = "{\"a\":1,\"b\":[1.5,true,\"<x>\"],\"c\":{\"d\":9007199254740993}}";
    assertThat(Json.write(Json.read(text))).isEqualTo(text);
    assertThat(Json.readMap("{\"none\":null}")).containsEntry("none", null);
  }

  @Test
  void whatIsOfAnotherTypeCountsAsAbsent() throws Exception {
    assertThat(Json.readMap("[1]")).isEmpty();
    assertThat(Json.list("text")).isEmpty();
    assertThat(Json.maps(List.of(Map.of("a", 1L), "b"))).containsExactly(Map.of("a", 1L), Map.of());
  }

  @Test
  void whatIsNotJsonIsRefused() {
    for (String text : List.of("", "word", "{\"a\":", "<html></html>", "{} {}")) {
      assertThatThrownBy(() -> Json.read(text))
          .isInstanceOf(DriverException.class)
          .hasMessageStartingWith("an answer is ");
    }
  }
}
