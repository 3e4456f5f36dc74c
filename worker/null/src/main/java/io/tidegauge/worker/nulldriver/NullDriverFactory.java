package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.DriverFactory;
import java.util.Map;

/**
 * The driver "null": a system in memory with known faults. Its settings are described at {@link
 * NullSettings}.
 */
public final class NullDriverFactory implements DriverFactory {
  @Override
  public String name() {
    return "null";
  }

  @Override
  public String clientVersion() {
    return "0.1.0";
  }

  @Override
  public Driver open(Map<String, String> connection) throws DriverException {
    return new NullDriver(NullSettings.parse(connection));
  }
}
