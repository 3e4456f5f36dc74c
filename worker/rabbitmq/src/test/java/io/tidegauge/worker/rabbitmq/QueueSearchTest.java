package io.tidegauge.worker.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which of the servers' refusals says that there is no such queue. */
class QueueSearchTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          true  | RabbitMQ could not look for queue q: NOT_FOUND - no queue 'q' in vhost '/'
          false | RabbitMQ could not look for queue q: NOT_FOUND - home node 'rabbit@two' of durable queue 'q' in vhost '/' is down or inaccessible
          false | RabbitMQ could not look for queue q: NOT_FOUND - queue 'q' in vhost '/' process is stopped by supervisor
          false | ''
          """)
  void aQueueThatCantBeReachedIsNotGone(boolean none, String answer) {
    assertThat(QueueSearch.saysNone(answer)).isEqualTo(none);
  }
}
