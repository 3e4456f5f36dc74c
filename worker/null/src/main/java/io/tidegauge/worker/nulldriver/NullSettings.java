package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * What the null system is to do wrong. All default to nothing.
 *
 * <ul>
 *   <li>{@code address}: "host:port" of a {@link NullServer} that several workers share; else each
 *       worker has a system of its own
 *   <li>{@code ack_delay_us}: time from send to delivery and acknowledgement
 *   <li>{@code stalls}: "at_ms:for_ms,..." after the first send: nothing is delivered or
 *       acknowledged meanwhile
 *   <li>{@code ack_batch}: acknowledgements are reported together, once there are so many (up to
 *       1,024); without {@code ack_delay_us}, {@code stalls} and {@code address}
 *   <li>{@code lose}: acknowledged, never delivered
 *   <li>{@code duplicate}: delivered twice
 *   <li>{@code swap}: delivered after the next message of the same producer to the same partition
 *   <li>{@code flip_body}, {@code flip_header}: delivered with one bit wrong
 *   <li>{@code fail_stored}, {@code fail_lost}: reported as failed, and delivered or not
 *   <li>{@code eject}: consumers leave and join again, see {@link Ejections}; with {@code address}
 *   <li>{@code consume_us}: CPU time that each message costs its consumer's thread
 *   <li>{@code backlog_bytes_max}: what a consumer may owe to one producer before sending blocks
 * </ul>
 *
 * The faults take {@link Positions}, counted for each producer.
 */
record NullSettings(
    InetSocketAddress address,
    long ackDelayNs,
    int ackBatch,
    long[] stallAtNs,
    long[] stallForNs,
    Positions lose,
    Positions duplicate,
    Positions swap,
    Positions flipBody,
    Positions flipHeader,
    Positions failStored,
    Positions failLost,
    Ejections eject,
    long consumeNs,
    long backlogBytesMax,
    Map<String, String> given) {

  private static final Map<String, String> DEFAULTS =
      Map.ofEntries(
          Map.entry("address", ""),
          Map.entry("ack_delay_us", "0"),
          Map.entry("ack_batch", "1"),
          Map.entry("stalls", ""),
          Map.entry("lose", ""),
          Map.entry("duplicate", ""),
          Map.entry("swap", ""),
          Map.entry("flip_body", ""),
          Map.entry("flip_header", ""),
          Map.entry("fail_stored", ""),
          Map.entry("fail_lost", ""),
          Map.entry("eject", ""),
          Map.entry("consume_us", "0"),
          Map.entry("backlog_bytes_max", String.valueOf(64L << 20)));

  static NullSettings parse(Map<String, String> given) throws DriverException {
    for (String name : given.keySet()) {
      if (!DEFAULTS.containsKey(name)) {
        throw new DriverException(
            "null driver: unknown setting '"
                + name
                + "'; there are "
                + new TreeMap<>(DEFAULTS).keySet());
      }
    }
    long[][] stalls = stalls(value(given, "stalls"));
    return new NullSettings(
        address(value(given, "address")),
        number(given, "ack_delay_us") * 1000,
        (int) Math.min(1 << 10, number(given, "ack_batch")),
        stalls[0],
        stalls[1],
        positions(given, "lose"),
        positions(given, "duplicate"),
        positions(given, "swap"),
        positions(given, "flip_body"),
        positions(given, "flip_header"),
        positions(given, "fail_stored"),
        positions(given, "fail_lost"),
        eject(given),
        number(given, "consume_us") * 1000,
        number(given, "backlog_bytes_max"),
        Map.copyOf(given));
  }

  private static Ejections eject(Map<String, String> given) throws DriverException {
    String text = value(given, "eject");
    if (!text.isEmpty() && value(given, "address").isEmpty()) {
      throw new DriverException("null driver: eject needs an address");
    }
    return Ejections.parse(text);
  }

  /** Whether the system is a process of its own. */
  boolean isRemote() {
    return address != null;
  }

  private static InetSocketAddress address(String text) throws DriverException {
    if (text.isEmpty()) {
      return null;
    }
    int colon = text.lastIndexOf(':');
    try {
      return InetSocketAddress.createUnresolved(
          text.substring(0, Math.max(0, colon)), Integer.parseInt(text.substring(colon + 1)));
    } catch (IllegalArgumentException e) {
      throw new DriverException(
          "null driver: address must look like '127.0.0.1:4000', not '" + text + "'", e);
    }
  }

  /** Whether outcomes are reported later, by the system's own thread. */
  boolean isDelayed() {
    return ackDelayNs > 0 || stallAtNs.length > 0;
  }

  boolean hasFaults() {
    return Stream.of(lose, duplicate, swap, flipBody, flipHeader, failStored, failLost)
        .anyMatch(fault -> !fault.isNone());
  }

  /** When something that would happen at {@code ns} happens, stalls considered. */
  long afterStalls(long ns, long firstSendNs) {
    long at = ns;
    for (int i = 0; i < stallAtNs.length; i++) {
      long from = firstSendNs + stallAtNs[i];
      if (at >= from && at < from + stallForNs[i]) {
        at = from + stallForNs[i];
      }
    }
    return at;
  }

  List<EffectiveSetting> describe() {
    return new TreeMap<>(DEFAULTS)
        .keySet().stream()
            .map(
                name ->
                    new EffectiveSetting(
                        "null", name, value(given, name), !given.containsKey(name)))
            .toList();
  }

  private static String value(Map<String, String> given, String name) {
    return given.getOrDefault(name, DEFAULTS.get(name));
  }

  private static Positions positions(Map<String, String> given, String name)
      throws DriverException {
    return Positions.parse(name, value(given, name));
  }

  private static long number(Map<String, String> given, String name) throws DriverException {
    try {
      long n = Long.parseLong(value(given, name));
      if (n >= 0) {
        return n;
      }
    } catch (NumberFormatException e) {
      throw new DriverException("null driver: " + name + " must be a whole number", e);
    }
    throw new DriverException("null driver: " + name + " must be 0 or more");
  }

  private static long[][] stalls(String text) throws DriverException {
    if (text.isEmpty()) {
      return new long[2][0];
    }
    String[] parts = text.split(",");
    long[][] stalls = new long[2][parts.length];
    try {
      for (int i = 0; i < parts.length; i++) {
        String[] pair = parts[i].split(":");
        stalls[0][i] = Long.parseLong(pair[0]) * 1_000_000;
        stalls[1][i] = Long.parseLong(pair[1]) * 1_000_000;
      }
    } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
      throw new DriverException(
          "null driver: stalls must look like '1000:500,4000:100' (at ms, for ms), not '"
              + text
              + "'",
          e);
    }
    return stalls;
  }
}
