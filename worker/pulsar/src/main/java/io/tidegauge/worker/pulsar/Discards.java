package io.tidegauge.worker.pulsar;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What clients throw away of what brokers deliver, since it came damaged. A client acknowledges
 * that, so it does not come again, and tells only its log: it counts such entries, too, but then
 * each message costs something.
 */
final class Discards implements AutoCloseable {
  /** The client's consumers and readers. Held, or its handlers might be forgotten. */
  private static final Logger LOG = Logger.getLogger("org.apache.pulsar.client.impl.ConsumerImpl");

  private static final Pattern DISCARDED =
      Pattern.compile("\\[(.*)]\\[(.*)] Discarding corrupted message at (\\d+):(\\d+)");

  /** Topic and subscription, as the client has them. */
  private record Place(String topic, String subscription) {}

  private final Map<Place, Consumer<String>> watching = new ConcurrentHashMap<>();

  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord line) {
          tell(line.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  Discards() {
    LOG.addHandler(handler);
  }

  /**
   * Tells, from the client's threads, of each entry of a topic, not partitioned or a partition,
   * that a subscription's consumers threw away: "ledger 3 entry 0".
   */
  void watch(String fullName, String subscription, Consumer<String> entries) {
    watching.put(new Place(fullName, subscription), entries);
  }

  void forget(String fullName, String subscription) {
    watching.remove(new Place(fullName, subscription));
  }

  private void tell(String line) {
    Matcher found = DISCARDED.matcher(line == null ? "" : line);
    if (found.matches()) {
      Consumer<String> entries = watching.get(new Place(found.group(1), found.group(2)));
      if (entries != null) {
        entries.accept("ledger " + found.group(3) + " entry " + found.group(4));
      }
    }
  }

  @Override
  public void close() {
    LOG.removeHandler(handler);
  }
}
