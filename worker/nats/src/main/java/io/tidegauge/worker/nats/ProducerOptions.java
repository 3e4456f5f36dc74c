package io.tidegauge.worker.nats;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.drivers.FoundSettings;
import io.tidegauge.worker.drivers.SettingChecks;
import java.util.List;

/**
 * Settings of a producer.
 *
 * @param ackWaitMs how long an acknowledgement is waited for
 */
record ProducerOptions(int ackWaitMs, int inFlightMessagesMax) {
  private static final String ACK_WAIT = "ackWaitMs";

  /**
   * So long that the window of messages in flight never empties itself: where each message is
   * fsynced, thousands wait for many seconds.
   */
  private static final int ACK_WAIT_MS_USUAL = 120_000;

  /** What the client's own asynchronous publishing waits. */
  private static final int ACK_WAIT_MS_DEFAULT = 5_000;

  static ProducerOptions of(ClientOptions options) throws DriverException {
    SettingChecks.checkNames(
        Connection.SYSTEM,
        "producer setting",
        options.producerOverrides().keySet(),
        List.of(ACK_WAIT));
    int otherwise = options.outcomeTimeoutMs() > 0 ? options.outcomeTimeoutMs() : ACK_WAIT_MS_USUAL;
    return new ProducerOptions(
        SettingChecks.parseWholeNumber(
            Connection.SYSTEM, options.producerOverrides(), ACK_WAIT, otherwise, 1),
        options.inFlightMessagesMax());
  }

  List<EffectiveSetting> disclosed() {
    FoundSettings all = new FoundSettings();
    all.add("producer", "publish", "JetStream, each message with an acknowledgement of its own");
    all.add("producer", ACK_WAIT, ackWaitMs, ACK_WAIT_MS_DEFAULT);
    return all.all();
  }
}
