package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.impl.ClientVersion;
import com.rabbitmq.stream.Environment;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.DriverFactory;
import java.util.Map;

/**
 * RabbitMQ through its official clients: AMQP 0-9-1 for classic, quorum and mirrored queues, the
 * stream protocol for streams. See {@link Connection} for the connection settings and {@link
 * TopicSettings} for those of a topic.
 */
public final class RabbitmqDriverFactory implements DriverFactory {
  @Override
  public String name() {
    return "rabbitmq";
  }

  @Override
  public String clientVersion() {
    String stream = Environment.class.getPackage().getImplementationVersion();
    return "amqp-client "
        + ClientVersion.VERSION
        + ", stream-client "
        + (stream == null ? "?" : stream);
  }

  @Override
  public Driver open(Map<String, String> connection) throws DriverException {
    return new RabbitmqDriver(Connection.of(connection));
  }
}
