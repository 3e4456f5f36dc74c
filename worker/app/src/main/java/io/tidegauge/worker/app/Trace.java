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
import io.tidegauge.worker.proto.ReadBackReply;
import io.tidegauge.worker.proto.ReceivedSequences;
import io.tidegauge.worker.proto.TracePart;
import io.tidegauge.worker.proto.TraceRequest;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** Looks for a trial's messages in its topics, for whoever knows which of them are missing. */
final class Trace {
  private Trace() {}

  /**
   * Reads the plan's topics and reports which of its messages are there.
   *
   * @throws DriverException if a topic can't be read at all
   */
  static void run(
      Driver driver, TrialPlan plan, TraceRequest request, Replies.Parts<TracePart> parts)
      throws DriverException, InterruptedException {
    int number = ReadBack.numberOf(plan, request.getSubscription());
    long began = System.nanoTime();
    long deadline = began + TimeUnit.MILLISECONDS.toNanos(request.getTimeoutMs());
    ReadBackReply.Builder reply = ReadBackReply.newBuilder().setBeganMonoNs(began);
    Present present = new Present(plan.trialId());
    List<TopicSpec> topics = topics(driver, plan);
    for (int t = 0; t < topics.size(); t++) {
      TopicSpec topic = topics.get(t);
      ReadBackSpec all = ReadBack.specOf(plan, topic, t, number, Map.of(), Map.of(), deadline);
      String forgets = driver.forgets(topic, plan.client());
      // A topic of others that is not there any more can't be told from one that never was.
      Map<Integer, String> gone = plan.variant().existingTopics() ? Map.of() : driver.gone(all);
      List<PartitionRead> reads;
      if (gone.size() == topic.partitions()) {
        // Nothing is read, and waited for, of a topic that is gone as a whole.
        reads = all.unread("");
      } else {
        Map<Integer, Long> from = request.getWhole() ? Map.of() : from(driver, plan, topic, number);
        ReadBackSpec spec = ReadBack.specOf(plan, topic, t, number, Map.of(), from, deadline);
        reads = driver.readBack(spec, present);
      }
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

  /** Those that others made have the partitions that others gave them. */
  private static List<TopicSpec> topics(Driver driver, TrialPlan plan) throws DriverException {
    if (!plan.variant().existingTopics()) {
      return plan.topics();
    }
    List<Integer> partitions =
        driver.openTopics(plan.topics().stream().map(TopicSpec::name).toList());
    return IntStream.range(0, partitions.size())
        .mapToObj(
            t -> {
              TopicSpec topic = plan.topics().get(t);
              return new TopicSpec(
                  topic.name(),
                  partitions.get(t),
                  topic.replicationFactor(),
                  topic.settings(),
                  topic.type());
            })
        .toList();
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
