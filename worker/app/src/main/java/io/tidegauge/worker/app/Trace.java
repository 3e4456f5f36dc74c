package io.tidegauge.worker.app;

import io.tidegauge.worker.api.CommittedPosition;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.PartitionRead;
import io.tidegauge.worker.api.ReadBackSpec;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.SequencesSink;
import io.tidegauge.worker.engine.TrialPlan;
import io.tidegauge.worker.engine.history.Present;
import io.tidegauge.worker.engine.message.ShortMessage;
import io.tidegauge.worker.proto.ReadBackReply;
import io.tidegauge.worker.proto.ReceivedSequences;
import io.tidegauge.worker.proto.TracePart;
import io.tidegauge.worker.proto.TraceRequest;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Looks for a trial's messages in its topics, for whoever knows which of them are missing. */
final class Trace {
  private Trace() {}

  /**
   * Reads the plan's topics and reports which of its messages are there.
   *
   * @param partitions of each topic, as the trial began
   * @throws DriverException if servers don't say which topics they have
   */
  static void run(
      Driver driver,
      TrialPlan plan,
      List<Integer> partitions,
      TraceRequest request,
      Replies.Parts<TracePart> parts)
      throws DriverException, InterruptedException {
    int number = ReadBack.numberOf(plan, request.getSubscription());
    long began = System.nanoTime();
    long deadline = began + TimeUnit.MILLISECONDS.toNanos(request.getTimeoutMs());
    ReadBackReply.Builder reply = ReadBackReply.newBuilder().setBeganMonoNs(began);
    int bytes = plan.payload().messageBytes();
    if (bytes < ShortMessage.NAMED_BYTES) {
      throw new DriverException("messages of " + bytes + " B can't be told apart in a topic");
    }
    Present present = new Present(plan.trialId(), bytes);
    for (int t = 0; t < plan.topics().size(); t++) {
      TopicSpec topic = withPartitions(plan.topics().get(t), partitions.get(t));
      ReadBackSpec all =
          ReadBack.specOf(plan, topic, t, number, Map.of(), Map.of(), Set.of(), deadline);
      Map<Integer, String> gone = driver.gone(all);
      List<PartitionRead> reads;
      if (gone.size() == topic.partitions()) {
        // Nothing is read, and waited for, of a topic that is gone as a whole.
        reads = all.unread("");
      } else {
        if (plan.variant().existingTopics() && gone.isEmpty()) {
          // As it is now: whoever keeps it may have deleted it and made it anew.
          topic = withPartitions(topic, driver.openTopics(List.of(topic.name())).get(0));
        }
        // Positions are not asked for where one may be waited for in vain.
        boolean whole = request.getWhole() || !gone.isEmpty();
        Map<Integer, Long> from = whole ? Map.of() : from(driver, plan, topic, number);
        ReadBackSpec spec =
            ReadBack.specOf(plan, topic, t, number, Map.of(), from, gone.keySet(), deadline);
        reads = read(driver, spec, present);
      }
      String forgets = driver.forgets(topic, plan.client());
      for (PartitionRead one : reads) {
        PartitionRead read =
            gone.containsKey(one.partition()) ? one.gone(gone.get(one.partition())) : one;
        reply.addPartitions(
            ReadBack.toProto(read.complete() && !forgets.isEmpty() ? read.doubted(forgets) : read));
      }
    }
    present.tell(request.getSubscription(), sets(parts));
    parts.add(TracePart.newBuilder().setRead(reply.setEndedMonoNs(System.nanoTime())).build());
  }

  /** One topic that can't be read says nothing of the others. */
  private static List<PartitionRead> read(Driver driver, ReadBackSpec spec, Present present)
      throws InterruptedException {
    try {
      return driver.readBack(spec, present);
    } catch (DriverException e) {
      return spec.unread(e.getMessage());
    }
  }

  private static TopicSpec withPartitions(TopicSpec topic, int partitions) {
    return new TopicSpec(
        topic.name(), partitions, topic.replicationFactor(), topic.settings(), topic.type());
  }

  /** What the servers can't say is read from the beginning. */
  private static Map<Integer, Long> from(
      Driver driver, TrialPlan plan, TopicSpec topic, int subscription) {
    Map<Integer, Long> from = new HashMap<>();
    try {
      for (CommittedPosition at :
          driver.committedPositions(topic, List.of(plan.subscriptionName(subscription)))) {
        from.put(at.partition(), at.position());
      }
    } catch (DriverException e) {
      return Map.of();
    }
    return Map.copyOf(from);
  }

  private static SequencesSink sets(Replies.Parts<TracePart> parts) {
    return new SequencesSink() {
      @Override
      public void sent(int producer, long sent, byte[] unknown) {
        throw new UnsupportedOperationException("a reader knows what is there, not what was sent");
      }

      @Override
      public void received(String subscription, int producer, byte[] received)
          throws InterruptedException {
        ReceivedSequences set = ToProto.received(subscription, producer, received);
        parts.add(TracePart.newBuilder().setPresent(set).build());
      }
    };
  }
}
