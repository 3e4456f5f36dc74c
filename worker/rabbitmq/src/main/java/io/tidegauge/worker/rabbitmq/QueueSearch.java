package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.DriverException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Finds the queues of a topic's partitions by asking for one after the other: all that AMQP alone
 * offers. The queues of further subscriptions bear the trial's number and can't be guessed.
 */
final class QueueSearch {
  /** Partitions are declared node by node, so a crash may leave gaps as wide as the cluster. */
  private static final int GAP_MAX = 16;

  private final AdminLink admin;

  QueueSearch(AdminLink admin) {
    this.admin = admin;
  }

  /** The last partition first: a deletion that breaks off leaves no gap before what remains. */
  List<String> queuesOf(String topic) throws DriverException {
    List<String> found = new ArrayList<>();
    int absent = 0;
    for (int partition = 0; absent < GAP_MAX; partition++) {
      String queue = Topology.queue(topic, partition);
      if (exists(queue)) {
        found.add(queue);
        absent = 0;
      } else {
        absent++;
      }
    }
    Collections.reverse(found);
    return found;
  }

  /** Whether there is a queue or stream of this name. */
  boolean exists(String queue) throws DriverException {
    return !answer(queue).contains("NOT_FOUND");
  }

  /** Whether there is none by the servers' word. */
  boolean isUnknown(String queue) throws DriverException {
    return saysNone(answer(queue));
  }

  /** A queue whose node is down is "not found", too, and not gone. */
  static boolean saysNone(String answer) {
    return answer.contains("NOT_FOUND - no queue ");
  }

  /** How the server refuses to show a queue that it does not find; empty if it shows it. */
  private String answer(String queue) throws DriverException {
    try {
      // A channel of its own: the server closes it over a name that it does not know.
      admin.run(0, "look for queue " + queue, channel -> channel.queueDeclarePassive(queue));
      return "";
    } catch (DriverException e) {
      if (e.getMessage().contains("NOT_FOUND")) {
        return e.getMessage();
      }
      throw e;
    }
  }
}
