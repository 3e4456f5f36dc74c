package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.DriverFactory;
import java.util.Map;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * Apache Kafka through its official client.
 *
 * <p>The connection takes {@code bootstrap.servers} and any other setting of the admin client
 * (security.*, ssl.*, sasl.*, request.timeout.ms, default.api.timeout.ms); those that concern
 * reaching the brokers go to producers and consumers as well.
 */
public final class KafkaDriverFactory implements DriverFactory {
  @Override
  public String name() {
    return "kafka";
  }

  @Override
  public String clientVersion() {
    return "kafka-clients " + AppInfoParser.getVersion();
  }

  @Override
  public Driver open(Map<String, String> connection) throws DriverException {
    return new KafkaDriver(Connection.of(connection));
  }
}
