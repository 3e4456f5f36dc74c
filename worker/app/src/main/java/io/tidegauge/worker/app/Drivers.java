package io.tidegauge.worker.app;

import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.DriverFactory;
import io.tidegauge.worker.proto.Connection;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;

/** The drivers on the class path. */
final class Drivers {
  private final Map<String, DriverFactory> byName = new TreeMap<>();

  Drivers() {
    for (DriverFactory factory : ServiceLoader.load(DriverFactory.class)) {
      byName.put(factory.name(), factory);
    }
  }

  /** Names with the versions of the client libraries. */
  Map<String, String> versions() {
    Map<String, String> versions = new TreeMap<>();
    byName.forEach((name, factory) -> versions.put(name, factory.clientVersion()));
    return versions;
  }

  Driver open(Connection connection) throws DriverException {
    DriverFactory factory = byName.get(connection.getDriver());
    if (factory == null) {
      throw new DriverException(
          "this worker has no driver '" + connection.getDriver() + "'; it has " + byName.keySet());
    }
    return factory.open(connection.getSettingsMap());
  }
}
