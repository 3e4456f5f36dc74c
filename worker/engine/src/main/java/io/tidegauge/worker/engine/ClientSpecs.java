package io.tidegauge.worker.engine;

import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Place;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.api.TopicSpec;
import java.util.List;

/**
 * What a trial's clients are to be. They keep the numbers that they have in the whole trial, so
 * that clients do the same however many workers they are spread over.
 */
final class ClientSpecs {
  private final TrialPlan plan;
  private final List<TopicSpec> topics;

  ClientSpecs(TrialPlan plan, List<TopicSpec> topics) {
    this.plan = plan;
    this.topics = topics;
  }

  ConsumerSpec consumer(int t, int subscription, int member) {
    TopicSpec topic = topics.get(t);
    int number = plan.consumer(subscription, t, member);
    return new ConsumerSpec(
        topic.name(),
        t,
        topic.partitions(),
        plan.subscriptionName(subscription),
        "tg-consumer-" + t + "-" + subscription + "-" + member,
        plan.users().startsPaused(subscription),
        plan.client(),
        plan.variant().subscriptionType(),
        // What was in others' topics before is not what our producers send.
        plan.variant().existingTopics() && plan.users().producersPerTopic() > 0,
        place(number, member, plan.users().consumersPerSubscription()));
  }

  ProducerSpec producer(int number) {
    int producersPerTopic = plan.users().producersPerTopic();
    int t = number / producersPerTopic;
    int p = number % producersPerTopic;
    TopicSpec topic = topics.get(t);
    return new ProducerSpec(
        topic.name(),
        t,
        topic.partitions(),
        "tg-producer-" + t + "-" + p,
        plan.client(),
        plan.variant().subscriptionType() == SubscriptionType.KEY_SHARED,
        place(plan.consumers() + number, p, producersPerTopic));
  }

  private Place place(int client, int member, int members) {
    return plan.isShared() ? new Place(client, member, members) : null;
  }
}
