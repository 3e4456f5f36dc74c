package io.tidegauge.worker.app;

import io.tidegauge.worker.api.CommittedPosition;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.ReadBackSpec;
import io.tidegauge.worker.api.Secrets;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.TrialPlan;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.history.ReadLog;
import io.tidegauge.worker.proto.CommittedPositionsReply;
import io.tidegauge.worker.proto.LastPosition;
import io.tidegauge.worker.proto.PartitionRead;
import io.tidegauge.worker.proto.ReadBackReply;
import io.tidegauge.worker.proto.ReadBackRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** Reads a trial's topics back, and how far its subscriptions have come. */
final class ReadBack {
  private ReadBack() {}

  /**
   * Reads all partitions of the plan's topics into the file of the request.
   *
   * @throws DriverException if a topic can't be read at all or the file can't be written
   */
  static ReadBackReply run(Driver driver, TrialPlan plan, ReadBackRequest request)
      throws DriverException, InterruptedException {
    int number = numberOf(plan, request.getSubscription());
    long began = System.nanoTime();
    long deadline = began + TimeUnit.MILLISECONDS.toNanos(request.getTimeoutMs());
    ReadBackReply.Builder reply = ReadBackReply.newBuilder().setBeganMonoNs(began);
    try (ReadLog log = new ReadLog(Path.of(request.getFile()), plan.trialId())) {
      for (int t = 0; t < plan.topics().size(); t++) {
        TopicSpec topic = plan.topics().get(t);
        ReadBackSpec spec =
            specOf(plan, topic, t, number, last(request, t), Map.of(), Set.of(), deadline);
        List<io.tidegauge.worker.api.PartitionRead> reads =
            request.getNode() == 0
                ? driver.readBack(spec, log)
                : driver.readReplica(spec, request.getNode(), log);
        reads.forEach(read -> reply.addPartitions(toProto(read)));
      }
    } catch (IOException | UncheckedIOException e) {
      throw new DriverException("the read log can't be written: " + ErrorLog.describe(e), e);
    }
    return reply.setEndedMonoNs(System.nanoTime()).build();
  }

  /** How a topic, the plan's number {@code index}, is read by one of its subscriptions. */
  static ReadBackSpec specOf(
      TrialPlan plan,
      TopicSpec topic,
      int index,
      int subscription,
      Map<Integer, Long> last,
      Map<Integer, Long> from,
      Set<Integer> gone,
      long deadlineNs) {
    return new ReadBackSpec(
        topic.name(),
        index,
        topic.partitions(),
        topic.settings(),
        plan.subscriptionName(subscription),
        subscription == 0,
        plan.variant().existingTopics(),
        last,
        from,
        gone,
        deadlineNs);
  }

  /** The number of a subscription of the plan. */
  static int numberOf(TrialPlan plan, String subscription) {
    int number = subscriptions(plan).indexOf(subscription);
    if (number < 0) {
      throw new IllegalArgumentException(
          "no such subscription: " + subscription + " (there is " + subscriptions(plan) + ")");
    }
    return number;
  }

  static Map<Integer, Long> last(ReadBackRequest request, int topic) {
    Map<Integer, Long> last = new HashMap<>();
    for (LastPosition known : request.getLastList()) {
      if (known.getTopic() == topic) {
        last.put(known.getPartition(), known.getPosition());
      }
    }
    return Map.copyOf(last);
  }

  /** How far each subscription of the plan has come. */
  static CommittedPositionsReply positions(Driver driver, TrialPlan plan) throws DriverException {
    List<String> names = subscriptions(plan);
    CommittedPositionsReply.Builder reply =
        CommittedPositionsReply.newBuilder().setAskedMonoNs(System.nanoTime());
    for (int t = 0; t < plan.topics().size(); t++) {
      for (CommittedPosition reported :
          driver.committedPositions(plan.topics().get(t), plan.subscriptionNames())) {
        reply.addPositions(
            io.tidegauge.worker.proto.CommittedPosition.newBuilder()
                .setSubscription(names.get(reported.subscription()))
                .setTopic(t)
                .setPartition(reported.partition())
                .setPosition(reported.position()));
      }
    }
    return reply.setAnsweredMonoNs(System.nanoTime()).build();
  }

  private static List<String> subscriptions(TrialPlan plan) {
    return IntStream.range(0, plan.users().subscriptionsPerTopic())
        .mapToObj(s -> "sub-" + s)
        .toList();
  }

  static PartitionRead toProto(io.tidegauge.worker.api.PartitionRead read) {
    return PartitionRead.newBuilder()
        .setTopic(read.topic())
        .setPartition(read.partition())
        .setMessages(read.messages())
        .setComplete(read.complete())
        .setWhy(Secrets.hide(read.why()))
        .setFirst(read.first())
        .setEnd(read.end())
        .build();
  }
}
