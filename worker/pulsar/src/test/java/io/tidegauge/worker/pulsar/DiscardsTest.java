package io.tidegauge.worker.pulsar;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DiscardsTest {
  private static final String TOPIC = "persistent://public/default/t-partition-1";
  private static final Logger CLIENT =
      Logger.getLogger("org.apache.pulsar.client.impl.ConsumerImpl");

  private final List<String> entries = new ArrayList<>();

  @BeforeEach
  void printNothing() {
    CLIENT.setUseParentHandlers(false);
  }

  @AfterEach
  void printAgain() {
    CLIENT.setUseParentHandlers(true);
  }

  private static void say(String topic, String subscription, String words) {
    CLIENT.severe("[" + topic + "][" + subscription + "] " + words);
  }

  @Test
  void ofEachEntryWhoeverWatchesItsTopicAndSubscriptionIsTold() {
    try (Discards discards = new Discards()) {
      discards.watch(TOPIC, "sub-0", entries::add);
      say(TOPIC, "sub-0", "Discarding corrupted message at 3:17");
      say(TOPIC, "sub-1", "Discarding corrupted message at 3:18");
      say(TOPIC + "1", "sub-0", "Discarding corrupted message at 3:19");
      say(TOPIC, "sub-0", "Closed consumer");
      assertThat(entries).containsExactly("ledger 3 entry 17");
      discards.forget(TOPIC, "sub-0");
      say(TOPIC, "sub-0", "Discarding corrupted message at 3:20");
      assertThat(entries).hasSize(1);
      discards.watch(TOPIC, "sub-0", entries::add);
    }
    say(TOPIC, "sub-0", "Discarding corrupted message at 3:21");
    assertThat(entries).hasSize(1);
  }
}
