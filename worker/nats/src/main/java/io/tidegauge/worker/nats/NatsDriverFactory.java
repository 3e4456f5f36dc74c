package io.tidegauge.worker.nats;

import io.nats.client.Nats;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.DriverFactory;
import java.util.Map;

/**
 * NATS JetStream through its official client. See {@link Connection} for the connection settings
 * and {@link TopicSettings} for those of a topic.
 */
public final class NatsDriverFactory implements DriverFactory {
  @Override
  public String name() {
    return "nats";
  }

  @Override
  public String clientVersion() {
    return "jnats " + Nats.CLIENT_VERSION;
  }

  @Override
  public Driver open(Map<String, String> connection) throws DriverException {
    return new NatsDriver(Connection.of(connection));
  }
}
