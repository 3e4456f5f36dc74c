package io.tidegauge.worker.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.SettingsException;
import io.tidegauge.worker.api.SettingsException.Role;
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

  @Test
  void whoseSettingsAreRefusedIsToldBeside() {
    DriverException refused = new SettingsException(Role.PRODUCER, "acks must be all", CAUSE);
    assertThat(trailers(refused).get(Replies.REFUSED)).isEqualTo("producer settings");
    assertThat(trailers(new DriverException("no answer")).get(Replies.REFUSED)).isNull();
  }

  private static String told(DriverException failure) {
    return Status.fromThrowable(error(failure)).getDescription();
  }

  private static Metadata trailers(DriverException failure) {
    return Status.trailersFromThrowable(error(failure));
  }

  private static Throwable error(DriverException failure) {
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
    return failed[0];
  }
}
