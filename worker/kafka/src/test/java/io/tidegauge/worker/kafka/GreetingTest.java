package io.tidegauge.worker.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.AccessException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class GreetingTest {
  private static final short METADATA = 3;
  private static final short VOTE = 52;
  private static final short UNSUPPORTED_VERSION = 35;

  private final ByteArrayOutputStream sent = new ByteArrayOutputStream();

  /** An answer to ApiVersions that names these requests, each in version 0 only. */
  private static ByteArrayInputStream answer(short error, short... requests) {
    ByteBuffer answer = ByteBuffer.allocate(14 + 6 * requests.length);
    answer.putInt(answer.capacity() - 4).putInt(1).putShort(error).putInt(requests.length);
    for (short request : requests) {
      answer.putShort(request).putInt(0);
    }
    return new ByteArrayInputStream(answer.array());
  }

  @Test
  void aBrokerIsGreeted() throws Exception {
    new Greeting(true).exchange(answer((short) 0, VOTE, METADATA), sent);
    assertThat(sent.size()).isPositive();
  }

  @Test
  void aControllerIsToldFromAListenerThatWantsCredentials() {
    assertThatThrownBy(() -> new Greeting(false).exchange(answer((short) 0, VOTE), sent))
        .isInstanceOf(AccessException.class)
        .hasMessageStartingWith("A KRaft controller listens at this port");
  }

  @Test
  void anErrorSaysNothingOfWhoListens() throws Exception {
    new Greeting(true).exchange(answer(UNSUPPORTED_VERSION), sent);
    assertThat(sent.size()).isPositive();
  }

  @Test
  void anAnswerThatEndsTooEarlyIsNotOfKafka() {
    ByteBuffer cut = ByteBuffer.allocate(14).putInt(10).putInt(1).putShort((short) 0).putInt(2);
    assertThatThrownBy(
            () -> new Greeting(true).exchange(new ByteArrayInputStream(cut.array()), sent))
        .isInstanceOf(IOException.class)
        .hasMessage("the answer is not of Kafka's protocol");
  }
}
