package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.HttpApi;
import io.tidegauge.worker.drivers.Json;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.CRC32;

/**
 * The bundles of a namespace: ranges of a hash, each of which one broker serves with all partitions
 * whose names fall into it. The hash is CRC-32 (Pulsar's NamespaceBundleFactory).
 */
final class Bundles {
  private final AdminRest rest;
  private final String namespace;

  /** Beginnings of the ranges, and the end of the last, which belongs to it. */
  private final List<Long> boundaries;

  private Bundles(AdminRest rest, String namespace, List<Long> boundaries) {
    this.rest = rest;
    this.namespace = namespace;
    this.boundaries = boundaries;
  }

  static Bundles of(AdminRest rest, String namespace) throws DriverException {
    String answer =
        rest.require("list the bundles of " + namespace, "GET", path(namespace) + "bundles", null);
    List<Long> boundaries = new ArrayList<>();
    if (Json.readMap(answer).get("boundaries") instanceof List<?> list) {
      list.forEach(boundary -> boundaries.add(Long.decode(String.valueOf(boundary))));
    }
    if (boundaries.size() < 2) {
      throw new DriverException("Pulsar reported no bundles of " + namespace + ": " + answer);
    }
    return new Bundles(rest, namespace, boundaries);
  }

  /** The range that a partition, by its full name, belongs to: "0x40000000_0x80000000". */
  String of(String partition) {
    CRC32 crc = new CRC32();
    crc.update(partition.getBytes(StandardCharsets.UTF_8));
    int last = boundaries.size() - 2;
    int index = 0;
    while (index < last && crc.getValue() >= boundaries.get(index + 1)) {
      index++;
    }
    return String.format("0x%08x_0x%08x", boundaries.get(index), boundaries.get(index + 1));
  }

  /**
   * Which of these brokers (host:port) serves each range that is served at all; empty if we have no
   * right to know.
   */
  Optional<Map<String, String>> owners(List<String> brokers) throws DriverException {
    Map<String, String> owners = new HashMap<>();
    for (String broker : brokers) {
      // The path names a cluster, which the broker does not look at.
      String path = "brokers/any/" + broker + "/ownedNamespaces";
      HttpApi.Answer owned = rest.callBroker(broker, "GET", path);
      if (!owned.isGood()) {
        return Optional.empty();
      }
      for (String bundle : Json.readMap(owned.body()).keySet()) {
        if (bundle.startsWith(namespace + "/")) {
          owners.put(bundle.substring(namespace.length() + 1), broker);
        }
      }
    }
    return Optional.of(owners);
  }

  /** Have a range served by this broker: from its next use on, which clients that use it notice. */
  void move(String range, String broker) throws DriverException {
    rest.require(
        "give bundle " + range + " to broker " + broker,
        "PUT",
        path(namespace) + range + "/unload?destinationBroker=" + broker,
        null);
  }

  private static String path(String namespace) {
    return "namespaces/" + namespace + "/";
  }
}
