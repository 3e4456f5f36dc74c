package io.tidegauge.worker.nats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.PartitionRead;
import io.tidegauge.worker.api.ReadBackSpec;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.api.testing.DriverOnServer;
import io.tidegauge.worker.api.testing.Exchange;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Against a real server: mvn test -pl nats -am -Dtest='*IT' -Dtidegauge.nats=4222,8222 (the ports
 * of clients and of the monitoring endpoint on 127.0.0.1).
 */
@EnabledIfSystemProperty(named = "tidegauge.nats", matches = ".+")
class NatsDriverIT extends DriverOnServer {
  private static final String[] PORTS = System.getProperty("tidegauge.nats", "0,0").split(",");

  static Map<String, String> connection() {
    return Map.of(
        "servers", "nats://127.0.0.1:" + PORTS[0],
        "monitoringUrl", "http://127.0.0.1:" + PORTS[1]);
  }

  @Override
  protected Driver connect() throws DriverException {
    return new NatsDriverFactory().open(connection());
  }

  @ParameterizedTest
  @CsvSource({"file, 1, 1, 1", "file, 5, 2, 2", "file, 1, 2, 1", "memory, 5, 2, 3"})
  void everyMessageArrivesOnceAndInOrder(
      String storage, int partitions, int producers, int consumers) throws Exception {
    createTopic(partitions, Map.of("storage", storage));
    checkEveryMessageArrives(
        partitions, producers, consumers, options(1024, "none", Map.of()), id -> id > 0);
  }

  @Test
  void aPausedConsumerReceivesNothingUntilItIsResumed() throws Exception {
    createTopic(4, Map.of());
    checkPausedConsumerReceivesNothing(options(100, "none", Map.of()));
  }

  @Test
  void aMessageOfOneMebibyteFits() throws Exception {
    createTopic(1, Map.of());
    checkMessagesArrive(50, options(1 << 20, "none", Map.of()));
  }

  @Test
  void aSmallPullNeverStalls() throws Exception {
    createTopic(3, Map.of());
    ClientOptions options = options(100, "none", Map.of("batchSize", "10", "ackEvery", "1000"));
    Exchange.Received received = new Exchange.Received(100);
    consume("sub-0", 0, 3, options, false, received);
    new Exchange(!driver.retainsValue()).send(produce(0, 3, options), 0, 1000, 100, false);
    received.await(1000);
    assertThat(received.unique()).isEqualTo(1000);
    assertThat(received.error).isNull();
  }

  @Test
  void describeTellsWhatIsInForce() throws Exception {
    createTopic(2, Map.of("compression", "s2"));
    try (Driver other = new NatsDriverFactory().open(connection())) {
      String scope = "topic " + topic;
      assertThat(other.describe(List.of(topic)))
          .contains(new EffectiveSetting(scope, "partitions", "2", null))
          .contains(new EffectiveSetting(scope, "storage", "file", null))
          .contains(new EffectiveSetting(scope, "replicas", "1", null))
          .contains(new EffectiveSetting(scope, "compression", "s2", null))
          .contains(new EffectiveSetting(scope, "persist_mode", "default", null))
          .anyMatch(one -> one.scope().startsWith("server ") && one.name().equals("sync_interval"))
          .anyMatch(one -> one.scope().equals("cluster") && one.name().equals("version"));
    }
  }

  @Test
  void aTopicIsReadBackWhole() throws Exception {
    createTopic(2, Map.of());
    new Exchange(!driver.retainsValue())
        .send(produce(0, 2, options(100, "none", Map.of())), 0, 1000, 100, false);
    long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    ReadBackSpec spec =
        new ReadBackSpec(
            topic,
            0,
            2,
            Map.of(),
            "sub-0",
            true,
            false,
            Map.of(0, 500L),
            Map.of(1, 401L),
            Set.of(),
            deadlineNs);
    int[] found = new int[2];
    List<PartitionRead> read =
        driver.readBack(spec, (t, partition, position, within, value) -> found[partition]++);
    assertThat(found).containsExactly(500, 100);
    assertThat(read).allMatch(PartitionRead::complete);
    // What was removed at the end is not waited for.
    try (var client = io.nats.client.Nats.connect(connection().get("servers"))) {
      for (long sequence : new long[] {499, 500}) {
        client.jetStreamManagement().deleteMessage(Topic.stream(topic, 0), sequence);
      }
    }
    found[0] = 0;
    read = driver.readBack(spec, (t, partition, position, within, value) -> found[partition]++);
    assertThat(found).startsWith(498);
    assertThat(read).allMatch(PartitionRead::complete);
    assertThat(driver.gone(spec)).isEmpty();
    driver.deleteTopics(List.of(topic));
    assertThat(driver.gone(spec)).hasSize(2);
  }

  @Test
  void errorsAreOneLine() throws Exception {
    assertThatThrownBy(() -> createTopic(1, Map.of("storage", "flie")))
        .hasMessage("NATS's storage must be file or memory, not \"flie\"");
    assertThatThrownBy(() -> createTopic(1, Map.of("replicas", "3")))
        .isInstanceOf(DriverException.class)
        .hasMessageStartingWith("NATS could not create stream " + topic + "-0: ")
        .hasMessageNotContaining("\n");
    Map<String, String> elsewhere = new HashMap<>(connection());
    elsewhere.put("servers", "nats://127.0.0.1:1");
    try (Driver other = new NatsDriverFactory().open(elsewhere)) {
      assertThatThrownBy(() -> other.createTopics(List.of(new TopicSpec(topic, 1, 1, Map.of()))))
          .hasMessage("No NATS broker reachable at 127.0.0.1:1 (connection refused)");
    }
  }

  private void createTopic(int partitions, Map<String, String> settings) throws DriverException {
    driver.createTopics(List.of(new TopicSpec(topic, partitions, 1, settings)));
  }
}
