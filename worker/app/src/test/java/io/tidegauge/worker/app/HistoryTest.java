package io.tidegauge.worker.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.StatusRuntimeException;
import io.tidegauge.worker.proto.*;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is written down is what was counted, and each invocation comes before its outcome. */
class HistoryTest {
  private static final int HEADER_BYTES = 32;
  private static final int RECORD_BYTES = 32;
  private static final int INVOKED = 1;
  private static final int ACKNOWLEDGED = 2;
  private static final int UNKNOWN = 3;

  @TempDir Path directory;
  private TestWorker worker;

  @BeforeEach
  void start() throws Exception {
    worker = new TestWorker();
  }

  @AfterEach
  void stop() {
    worker.close();
  }

  private PrepareRequest.Builder order(Map<String, String> settings) {
    return TestWorker.order(settings, 4_000)
        .setProducersPerTopic(2)
        .setHistoryDirectory(directory.toString());
  }

  private TotalFigures run(PrepareRequest order, long millis) throws Exception {
    worker.stub.prepare(order);
    worker.stub.start(StartRequest.getDefaultInstance());
    Thread.sleep(millis);
    return worker.stop();
  }

  /** Counts the records of each kind over all files. */
  private long[] counted() throws Exception {
    long[] kinds = new long[5];
    try (Stream<Path> files = Files.list(directory)) {
      for (Path path : files.sorted().toList()) {
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.LITTLE_ENDIAN);
        assertThat(file.getLong(16)).isEqualTo(77);
        assertThat((file.capacity() - HEADER_BYTES) % RECORD_BYTES).isZero();
        Set<Long> open = new HashSet<>();
        for (int at = HEADER_BYTES; at < file.capacity(); at += RECORD_BYTES) {
          int kind = file.getInt(at + 28);
          kinds[kind]++;
          assertThat(
                  kind == INVOKED
                      ? open.add(file.getLong(at + 8))
                      : open.remove(file.getLong(at + 8)))
              .isTrue();
        }
      }
    }
    return kinds;
  }

  @Test
  void everyMessageHasAnInvocationAndItsOutcome() throws Exception {
    TotalFigures totals = run(order(Map.of()).build(), 300);
    long[] kinds = counted();
    assertThat(totals.getSent()).isGreaterThan(100);
    assertThat(kinds[INVOKED]).isEqualTo(totals.getSent());
    assertThat(kinds[ACKNOWLEDGED]).isEqualTo(totals.getAcked()).isEqualTo(totals.getSent());
    assertThat(Files.exists(directory.resolve("producer-00001.history"))).isTrue();
  }

  @Test
  void whatFailedIsUnknown() throws Exception {
    TotalFigures totals =
        run(order(Map.of("fail_lost", "at:5,9", "fail_stored", "at:7")).build(), 300);
    long[] kinds = counted();
    // Positions count for each of the two producers.
    assertThat(totals.getFailed()).isEqualTo(6);
    assertThat(kinds[UNKNOWN]).isEqualTo(totals.getFailed());
    assertThat(kinds[ACKNOWLEDGED]).isEqualTo(totals.getAcked());
  }

  @Test
  void aHistoryIsNeverOverwritten() throws Exception {
    run(order(Map.of()).build(), 50);
    assertThatThrownBy(() -> worker.stub.prepare(order(Map.of()).build()))
        .isInstanceOf(StatusRuntimeException.class)
        .hasMessageContaining("the history can't be written in " + directory);
  }

  @Test
  void withoutADirectoryNothingIsWritten() throws Exception {
    run(TestWorker.order(Map.of(), 4_000).build(), 100);
    try (Stream<Path> files = Files.list(directory)) {
      assertThat(files).isEmpty();
    }
  }

  @Test
  void aDriverThatCantReadBackSaysSo() {
    ReadBackRequest request =
        ReadBackRequest.newBuilder()
            .setOrder(TestWorker.order(Map.of(), 1))
            .setSubscription("sub-0")
            .setFile(directory.resolve("pass.read").toString())
            .setTimeoutMs(1_000)
            .build();
    assertThatThrownBy(() -> worker.stub.readBack(request))
        .isInstanceOf(StatusRuntimeException.class)
        .hasMessageContaining("this driver can't read topics back");
    ReadBackRequest ofNode =
        request.toBuilder().setNode(2).setFile(directory.resolve("node.read").toString()).build();
    assertThatThrownBy(() -> worker.stub.readBack(ofNode))
        .hasMessageContaining("this driver can't choose whose copy of a topic is read");
    assertThatThrownBy(() -> worker.stub.readBack(request.toBuilder().setSubscription("x").build()))
        .hasMessageContaining("no such subscription: x (there is [sub-0])");
    CommittedPositionsRequest asked =
        CommittedPositionsRequest.newBuilder().setOrder(TestWorker.order(Map.of(), 1)).build();
    assertThat(worker.stub.committedPositions(asked).getPositionsList()).isEmpty();
  }
}
