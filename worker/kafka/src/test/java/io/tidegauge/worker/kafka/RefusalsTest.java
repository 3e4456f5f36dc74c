package io.tidegauge.worker.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.WakeupException;
import org.junit.jupiter.api.Test;

/** Data that the client refuses is fetched anew once, then passed over. */
class RefusalsTest {
  private static final TopicPartition ONE = new TopicPartition("topic", 0);
  private static final TopicPartition OTHER = new TopicPartition("topic", 1);
  private static final KafkaException REFUSED =
      new KafkaException("seek past the record", new KafkaException("the batch is invalid"));

  private final MockConsumer<ByteBuffer, ByteBuffer> client = new MockConsumer<>("earliest");
  private final List<Integer> passedOver = new ArrayList<>();
  private final List<RuntimeException> answers = new ArrayList<>();
  private final Refusals refusals =
      new Refusals(client, this::next, (partition, cause) -> passedOver.add(partition));

  RefusalsTest() {
    client.assign(List.of(ONE, OTHER));
    client.updateBeginningOffsets(Map.of(ONE, 0L, OTHER, 0L));
    client.seek(ONE, 5);
    client.seek(OTHER, 7);
  }

  /** Only the first partition's data are refused. */
  private boolean next(Duration wait) {
    if (!answers.isEmpty() && client.paused().contains(OTHER)) {
      throw answers.remove(0);
    }
    return false;
  }

  private List<Long> positions() {
    return List.of(client.position(ONE), client.position(OTHER));
  }

  @Test
  void theFirstTimeEverythingIsFetchedAnewFromWhereItWas() {
    refusals.meet(REFUSED);
    assertThat(positions()).containsExactly(5L, 7L);
    assertThat(passedOver).isEmpty();
  }

  @Test
  void whatIsRefusedAgainIsPassedOverOneByOneAndNothingElse() {
    refusals.meet(REFUSED);
    answers.addAll(List.of(REFUSED, REFUSED));
    refusals.meet(REFUSED);
    assertThat(positions()).containsExactly(7L, 7L);
    assertThat(passedOver).containsExactly(0, 0);
    assertThat(client.paused()).isEmpty();
  }

  @Test
  void whatHasMovedOnSinceIsFetchedAnewFirst() {
    refusals.meet(REFUSED);
    client.seek(ONE, 6);
    client.seek(OTHER, 8);
    answers.add(REFUSED);
    refusals.meet(REFUSED);
    assertThat(positions()).containsExactly(6L, 8L);
    assertThat(passedOver).isEmpty();
  }

  @Test
  void whatElseGoesWrongMeanwhileIsTold() {
    refusals.meet(REFUSED);
    answers.add(new WakeupException());
    assertThatThrownBy(() -> refusals.meet(REFUSED)).isInstanceOf(WakeupException.class);
    assertThat(client.paused()).isEmpty();
  }

  @Test
  void onlyRefusedDataAreMeant() {
    assertThat(Refusals.isOfData(REFUSED)).isTrue();
    assertThat(Refusals.isOfData(new KafkaException("x", new CorruptRecordException()))).isTrue();
    assertThat(Refusals.isOfData(new CorruptRecordException())).isTrue();
    assertThat(Refusals.isOfData(new KafkaException("unexpected"))).isFalse();
    assertThat(Refusals.isOfData(new TimeoutException())).isFalse();
    assertThat(Refusals.isOfData(new WakeupException())).isFalse();
    SaslAuthenticationException refusedAccess = new SaslAuthenticationException("no");
    assertThat(Refusals.isOfData(new KafkaException("x", refusedAccess))).isFalse();
  }
}
