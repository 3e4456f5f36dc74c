package io.tidegauge.worker.engine;

import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.NoTopicException;
import io.tidegauge.worker.api.Progress;
import io.tidegauge.worker.api.TopicSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** A trial's topics on the system: created for it, or of others and only used. */
final class TopicsOfTrial {
  private final TrialPlan plan;
  private final Driver driver;

  /** As they are: of existing topics the partitions that the system reports. */
  private final List<TopicSpec> topics;

  private TopicsOfTrial(TrialPlan plan, Driver driver, List<TopicSpec> topics) {
    this.plan = plan;
    this.driver = driver;
    this.topics = List.copyOf(topics);
  }

  /** Creates the topics, unless they exist already or {@link #createShare} has created them. */
  static TopicsOfTrial open(TrialPlan plan, Driver driver) throws DriverException {
    if (plan.variant().existingTopics()) {
      return new TopicsOfTrial(plan, driver, existing(plan.topics(), driver));
    }
    if (!plan.isShared()) {
      NoTopicException.tellRefusal(() -> driver.createTopics(plan.topics()));
    }
    return new TopicsOfTrial(plan, driver, plan.topics());
  }

  private static List<TopicSpec> existing(List<TopicSpec> planned, Driver driver)
      throws DriverException {
    List<Integer> partitions = driver.openTopics(namesOf(planned));
    List<TopicSpec> all = new ArrayList<>();
    for (int t = 0; t < planned.size(); t++) {
      TopicSpec topic = planned.get(t);
      all.add(
          new TopicSpec(
              topic.name(),
              partitions.get(t),
              topic.replicationFactor(),
              topic.settings(),
              topic.type()));
    }
    return all;
  }

  /**
   * Creates this worker's topics, before any worker prepares. On topics of others it says where
   * subscriptions begin.
   */
  static void createShare(TrialPlan plan, Driver driver, Progress progress) throws DriverException {
    Share share = plan.share();
    if (IntStream.range(0, plan.topics().size()).noneMatch(share::hasTopic)) {
      return;
    }
    driver.report(progress);
    if (!plan.variant().existingTopics()) {
      NoTopicException.tellRefusal(() -> driver.createTopics(plan.topics(), share::hasTopic));
      return;
    }
    ClientSpecs specs = new ClientSpecs(plan, open(plan, driver).all());
    for (int t = 0; t < plan.topics().size(); t++) {
      for (int s = 0; s < plan.users().subscriptionsPerTopic() && share.hasTopic(t); s++) {
        driver.beginSubscription(specs.consumer(t, s, 0));
      }
    }
  }

  List<TopicSpec> all() {
    return topics;
  }

  /**
   * Deletes the topics, or from topics that are others' the subscriptions of this trial. Where
   * other workers may still use them, only if asked.
   */
  void remove(boolean delete) throws DriverException {
    if (!delete && plan.isShared()) {
      return;
    }
    if (plan.variant().existingTopics()) {
      driver.removeSubscriptions(namesOf(topics), TrialPlan.subscriptionPrefix(plan.trialId()));
    } else if (delete) {
      driver.deleteTopics(namesOf(topics));
    }
  }

  private static List<String> namesOf(List<TopicSpec> topics) {
    return topics.stream().map(TopicSpec::name).toList();
  }
}
