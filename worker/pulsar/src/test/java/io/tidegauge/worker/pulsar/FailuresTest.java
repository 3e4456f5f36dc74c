package io.tidegauge.worker.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.SettingsException;
import io.tidegauge.worker.api.SettingsException.Role;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.apache.pulsar.client.api.PulsarClientException;
import org.junit.jupiter.api.Test;

/** What is made of the client's failures. */
class FailuresTest {
  @Test
  void aSendThatTimedOutMayBeStored() {
    assertThat(TopicProducer.isNeverSent(new PulsarClientException.TimeoutException("30 s")))
        .isFalse();
    assertThat(TopicProducer.isNeverSent(new PulsarClientException("connection closed"))).isFalse();
    assertThat(TopicProducer.isNeverSent(new PulsarClientException.InvalidMessageException("big")))
        .isTrue();
  }

  @Test
  void everyWaitHasADeadline() {
    CompletableFuture<Void> silent =
        new CompletableFuture<>() {
          @Override
          public Void get() {
            throw new AssertionError("waits without a deadline");
          }

          @Override
          public Void get(long timeout, TimeUnit unit) throws TimeoutException {
            assertThat(unit.toMillis(timeout)).isEqualTo(70);
            throw new TimeoutException();
          }
        };
    assertThatThrownBy(() -> Failures.await(silent, "report the end", 70))
        .hasMessage("Pulsar could not report the end: no answer within 70 ms");
  }

  @Test
  void aMissingRightIsNotAWrongPassword() {
    Throwable right =
        new CompletionException(new PulsarClientException.AuthorizationException("no produce"));
    assertThat(Failures.describe("create a producer", right))
        .hasMessageContaining("the user has no right to do that: no produce")
        .isInstanceOfSatisfying(
            AccessException.class, e -> assertThat(e.isMissingRight()).isTrue());
    Throwable password =
        new CompletionException(new PulsarClientException.AuthenticationException("bad token"));
    assertThat(Failures.describe("create a producer", password))
        .hasMessageContaining("the credentials are missing, wrong or expired: bad token")
        .isInstanceOfSatisfying(
            AccessException.class, e -> assertThat(e.isMissingRight()).isFalse());
  }

  @Test
  void aNewClientThatDoesNotTakeItsSettingsSaysWhose() {
    Exception invalid = new PulsarClientException.InvalidConfigurationException("no such thing");
    assertThatThrownBy(() -> created(() -> CompletableFuture.failedFuture(invalid)))
        .isInstanceOfSatisfying(
            SettingsException.class, e -> assertThat(e.role()).isEqualTo(Role.PRODUCER));
    assertThatThrownBy(
            () ->
                created(
                    () -> {
                      throw new IllegalArgumentException("batching and chunking");
                    }))
        .isInstanceOf(SettingsException.class)
        .hasMessage("Pulsar could not create a producer: batching and chunking");
    Exception late = new PulsarClientException.TimeoutException("late");
    assertThatThrownBy(() -> created(() -> CompletableFuture.failedFuture(late)))
        .isExactlyInstanceOf(DriverException.class);
  }

  private static Void created(Supplier<CompletableFuture<Void>> making) throws DriverException {
    return Failures.awaitNew(Role.PRODUCER, making, "create a producer", 1_000);
  }
}
