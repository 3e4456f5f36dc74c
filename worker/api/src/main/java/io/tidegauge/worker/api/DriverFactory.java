package io.tidegauge.worker.api;

import java.util.Map;

/**
 * Entry point of a driver, found by {@link java.util.ServiceLoader}. One for each messaging system.
 */
public interface DriverFactory {
  /** The driver's name in {@code Connection.driver}: "kafka", "pulsar", "null". */
  String name();

  /**
   * The client library in use and its version, as the library itself reports it: "kafka-clients
   * 4.3.1".
   */
  String clientVersion();

  /**
   * Connects to a system.
   *
   * @param connection how to reach it, in the driver's own words
   * @throws DriverException if the settings are unusable; that the system is not there yet may show
   *     only later
   */
  Driver open(Map<String, String> connection) throws DriverException;
}
