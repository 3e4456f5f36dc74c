package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.DriverFactory;
import java.util.Map;
import org.apache.pulsar.PulsarVersion;

/**
 * Apache Pulsar through its official client.
 *
 * <p>The connection takes {@code serviceUrl} (pulsar://host:port), {@code adminUrl}
 * (http://host:port), {@code namespace} (public/default if absent) and any other setting of the
 * client's ClientConfigurationData (numIoThreads, authParams, tls*).
 */
public final class PulsarDriverFactory implements DriverFactory {
  static {
    // The client has a Netty of its own, which asks once whether it may reach into the JDK.
    System.setProperty("org.apache.pulsar.shade.io.netty.tryReflectionSetAccessible", "true");
  }

  @Override
  public String name() {
    return "pulsar";
  }

  @Override
  public String clientVersion() {
    return "pulsar-client " + PulsarVersion.getVersion();
  }

  @Override
  public Driver open(Map<String, String> connection) throws DriverException {
    return new PulsarDriver(Connection.of(connection));
  }
}
