package io.tidegauge.worker.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.tidegauge.worker.api.DriverException;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** What a caller is told of what went wrong. */
class RepliesTest {
  private static final Exception CAUSE = new IllegalStateException("no such topic");

  @Test
  void aCauseThatTheMessageNamesIsNotToldAgain() {
    String message = "Kafka could not find topic orders: no such topic";
    assertThat(told(new DriverException(message, CAUSE))).isEqualTo(message);
    assertThat(told(new DriverException(message, new ExecutionException(CAUSE))))
        .isEqualTo(message);
    assertThat(told(new DriverException(message))).isEqualTo(message);
  }

  @Test
  void anotherCauseIsToldWithTheMessage() {
    assertThat(told(new DriverException("Kafka could not find topic orders", CAUSE)))
        .isEqualTo("Kafka could not find topic orders (IllegalStateException: no such topic)");
  }

  private static String told(DriverException failure) {
    Throwable[] failed = new Throwable[1];
    StreamObserver<String> caller =
        new StreamObserver<>() {
          @Override
          public void onNext(String answer) {}

          @Override
          public void onError(Throwable error) {
            failed[0] = error;
          }

          @Override
          public void onCompleted() {}
        };
    Replies.answer(
        caller,
        () -> {
          throw failure;
        });
    return Status.fromThrowable(failed[0]).getDescription();
  }
}
