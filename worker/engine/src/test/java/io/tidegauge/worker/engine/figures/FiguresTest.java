package io.tidegauge.worker.engine.figures;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.tidegauge.worker.api.Secrets;
import io.tidegauge.worker.proto.SecondFigures;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class FiguresTest {
  private static SecondFigures second(long n) {
    ByteString histogram = ByteString.copyFrom(new byte[100]);
    return SecondFigures.newBuilder()
        .setSecond(n)
        .setResponse(histogram)
        .setService(histogram)
        .setDelay(histogram)
        .build();
  }

  @Test
  void theLogGivesUpItsOldestSecondsRatherThanGrow() throws Exception {
    SecondsLog log = new SecondsLog(10 * SecondsLog.bytesOf(second(0)));
    for (int i = 0; i < 100; i++) {
      log.append(second(i));
    }
    assertThat(log.count()).isEqualTo(100);
    assertThat(log.next(0, 0).getSecond()).isEqualTo(90);
    assertThat(log.next(95, 0).getSecond()).isEqualTo(95);
    assertThat(log.next(100, 1)).isNull();
    log.close();
    assertThat(log.next(100, 10_000)).isNull();
  }

  @Test
  void movingTheEndKeepsTheWindowAndAnotherBeginningDoesNot() {
    Window first = Window.NONE.next(1_000, 0);
    assertThat(first.contains(999)).isFalse();
    assertThat(first.contains(5_000_000)).isTrue();
    Window closed = first.next(1_000, 2_000);
    assertThat(closed.epoch()).isEqualTo(first.epoch());
    assertThat(closed.contains(2_000)).isFalse();
    assertThat(closed.next(1_500, 0).epoch()).isNotEqualTo(closed.epoch());
  }

  @Test
  void anErrorTellsNoSecret() {
    Secrets.remember("sesame-street-7");
    ErrorLog log = new ErrorLog();
    log.add("send", new IOException("x".repeat(372) + " token sesame-street-7 refused"));
    assertThat(log.all())
        .singleElement()
        .satisfies(error -> assertThat(error.message()).endsWith("token (hidden)..."));
  }

  @Test
  void theOverlapWithAWindowIsClipped() {
    Window w = new Window(1, 1_000, 2_000);
    assertThat(w.overlapNs(500, 1_500)).isEqualTo(500);
    assertThat(w.overlapNs(1_200, 1_300)).isEqualTo(100);
    assertThat(w.overlapNs(1_900, 9_000)).isEqualTo(100);
    assertThat(w.overlapNs(3_000, 4_000)).isZero();
  }

  @Test
  void distinctErrorsAreBounded() {
    ErrorLog log = new ErrorLog();
    for (int i = 0; i < 100; i++) {
      log.add("send", new IllegalStateException("number " + i));
    }
    assertThat(log.all()).hasSize(ErrorLog.DISTINCT_MAX + 1);
    assertThat(log.all().get(ErrorLog.DISTINCT_MAX).count()).isEqualTo(80);
  }

  @Test
  void anErrorIsDescribedInOneLineWithItsRootCause() {
    Throwable t = new IllegalStateException("outer\nmore", new RuntimeException("root"));
    assertThat(ErrorLog.describe(t))
        .isEqualTo("IllegalStateException: outer, caused by RuntimeException: root");
  }
}
