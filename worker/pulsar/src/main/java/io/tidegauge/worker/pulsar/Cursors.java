package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.CommittedPosition;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How far the subscriptions of a partition have come, by its broker. */
final class Cursors {
  private static final Pattern POSITION = Pattern.compile("(\\d+):(-?\\d+)");

  private final AdminRest rest;

  Cursors(AdminRest rest) {
    this.rest = rest;
  }

  /**
   * The entry up to which each of the subscriptions has acknowledged everything, as one number (see
   * {@link WholePartition#position}). Which acknowledgements the broker had written down by then it
   * does not say.
   */
  List<CommittedPosition> positions(String fullName, int partition, List<String> subscriptions)
      throws DriverException {
    String path = fullName.replaceFirst("://", "/") + "/internalStats";
    return parsed(
        rest.require("report the positions in " + fullName, "GET", path, null),
        partition,
        subscriptions);
  }

  static List<CommittedPosition> parsed(
      String internalStats, int partition, List<String> subscriptions) throws DriverException {
    Map<String, Object> stats = Json.readMap(internalStats);
    List<CommittedPosition> all = new ArrayList<>();
    if (stats.get("cursors") instanceof Map<?, ?> cursors) {
      for (int s = 0; s < subscriptions.size(); s++) {
        if (cursors.get(subscriptions.get(s)) instanceof Map<?, ?> cursor) {
          all.add(new CommittedPosition(s, partition, position(cursor)));
        }
      }
    }
    return all;
  }

  /** One past the entry, so that the beginning of a ledger, entry -1, is a number too. */
  private static long position(Map<?, ?> cursor) throws DriverException {
    String position = String.valueOf(cursor.get("markDeletePosition"));
    Matcher parts = POSITION.matcher(position);
    if (!parts.matches()) {
      throw new DriverException("Pulsar reported a position that is none: " + position);
    }
    return (Long.parseLong(parts.group(1)) << 32) + Long.parseLong(parts.group(2)) + 1;
  }
}
