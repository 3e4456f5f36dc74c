package io.tidegauge.worker.nulldriver;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A topic of a {@link NullServer}: its subscriptions, each with a copy of what comes. */
final class ServerTopic {
  private final int partitions;
  private final Ejections ejections;
  private final Map<String, ServerSubscription> subscriptions = new ConcurrentHashMap<>();

  ServerTopic(int partitions, Ejections ejections) {
    this.partitions = partitions;
    this.ejections = ejections;
  }

  ServerSubscription subscription(String name) {
    return subscriptions.computeIfAbsent(name, n -> new ServerSubscription(partitions, ejections));
  }

  /** Returns once each subscription has room for it. */
  void store(int partition, byte[] value) throws InterruptedException {
    for (ServerSubscription subscription : subscriptions.values()) {
      subscription.put(partition, value);
    }
  }

  void delete() {
    subscriptions.values().forEach(ServerSubscription::delete);
  }
}
