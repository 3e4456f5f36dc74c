package io.tidegauge.worker.api;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PartitionReadTest {
  @Test
  void whatIsDoubtedIsNotComplete() {
    PartitionRead read = new PartitionRead(1, 2, 30, true, "", "offset 0", "offset 30");
    assertThat(read.doubted("broker 3 does not lead it"))
        .isEqualTo(
            new PartitionRead(
                1, 2, 30, false, "broker 3 does not lead it", "offset 0", "offset 30"));
  }
}
