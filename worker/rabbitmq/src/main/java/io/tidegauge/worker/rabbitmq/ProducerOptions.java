package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.drivers.FoundSettings;
import io.tidegauge.worker.drivers.SettingChecks;
import java.util.List;
import java.util.Map;

/**
 * Settings of an AMQP producer. AMQP 0-9-1 has no batches, no compression and no choice of
 * acknowledgement: what the neutral options ask of these is reported as not available, and
 * compression is refused.
 *
 * @param mandatory whether the broker returns messages that reach no queue; the driver has always
 *     bound one
 */
record ProducerOptions(boolean mandatory) {
  private static final String MANDATORY = "mandatory";
  private static final String PERSISTENT = "2 (persistent)";
  private static final String TRANSIENT = "1 (transient)";

  static ProducerOptions of(ClientOptions options) throws DriverException {
    Map<String, String> overrides = options.producerOverrides();
    SettingChecks.checkNames(
        "RabbitMQ", "producer setting", overrides.keySet(), List.of(MANDATORY));
    if (!options.compression().equals("none")) {
      throw new DriverException(
          "RabbitMQ's AMQP client can't compress ("
              + options.compression()
              + "): use compression none, or streams");
    }
    checkAcks(options.acks());
    return new ProducerOptions(
        SettingChecks.parseTruth(
            Connection.SYSTEM, MANDATORY, overrides.getOrDefault(MANDATORY, "false")));
  }

  static void checkAcks(String acks) throws DriverException {
    if (!acks.equals("all") && !acks.equals("one")) {
      throw new DriverException("acks must be \"all\" or \"one\", not \"" + acks + "\"");
    }
  }

  /** What was given to the client, for disclosure. */
  List<EffectiveSetting> disclosed(boolean persistent, int usersEach) {
    FoundSettings all = new FoundSettings();
    all.add("producer", "protocol", "AMQP 0-9-1, blocking sockets, TCP_NODELAY");
    // What a channel does that is told nothing: no confirms, messages that no restart survives.
    all.add("producer", "publisher.confirms", true, false);
    all.add("producer", "delivery_mode", persistent ? PERSISTENT : TRANSIENT, TRANSIENT);
    all.add("producer", MANDATORY, mandatory, false);
    all.add(
        "producer",
        "batching",
        "none: AMQP sends each message by itself; batch bytes and delay have no effect");
    all.add("producer", "compression", "none: AMQP has none");
    all.add("producer", "acks", "by queue type: the broker confirms, the client has no choice");
    all.add("producer", "partitioner", "the driver: hash of the key, else round robin");
    all.add(
        "producer",
        "connections",
        usersEach == 1
            ? "1 connection and 1 channel for each producer"
            : "1 channel for each producer, 1 connection for up to " + usersEach + " of them");
    all.add(
        "producer", "automatic_recovery", "by the driver: new connection, waiting confirms failed");
    return all.all();
  }
}
