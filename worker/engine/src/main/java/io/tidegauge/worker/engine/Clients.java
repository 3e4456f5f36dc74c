package io.tidegauge.worker.engine;

import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.engine.check.ReceivingThreads;
import io.tidegauge.worker.engine.check.Subscription;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.history.HistoryFile;
import io.tidegauge.worker.engine.load.Producer;
import java.util.ArrayList;
import java.util.List;

/** This worker's clients of a trial, and what is closed with them. */
final class Clients implements AutoCloseable {
  /**
   * The consumers of a subscription.
   *
   * @param consumers those that are not closed
   * @param numbers of each consumer, closed or not, its number in the subscription, topic by topic
   */
  record Members(
      Subscription subscription, List<MessageConsumer> consumers, List<Integer> numbers) {
    Members(Subscription subscription) {
      this(subscription, new ArrayList<>(), new ArrayList<>());
    }
  }

  private final List<Members> members = new ArrayList<>();
  private final List<Producer> producers = new ArrayList<>();
  private final List<HistoryFile> histories = new ArrayList<>();
  private final ReceivingThreads receivingThreads = new ReceivingThreads();
  private final ErrorLog errors;

  /**
   * @param errors where it is noted if one can't be closed
   */
  Clients(ErrorLog errors) {
    this.errors = errors;
  }

  void add(Members ofSubscription) {
    members.add(ofSubscription);
  }

  void add(Producer producer) {
    producers.add(producer);
  }

  void add(HistoryFile history) {
    histories.add(history);
  }

  /** The threads that hand messages to the consumers. */
  ReceivingThreads receivingThreads() {
    return receivingThreads;
  }

  List<Producer> producers() {
    return producers;
  }

  List<Subscription> subscriptions() {
    return members.stream().map(Members::subscription).toList();
  }

  /** Of each subscription its consumers' numbers, counted topic by topic. */
  List<List<Integer>> consumerNumbers() {
    return members.stream().map(Members::numbers).toList();
  }

  /** The consumers of the named subscriptions; none named = all. */
  List<MessageConsumer> consumersOf(List<String> names) {
    return membersOf(names).stream().flatMap(of -> of.consumers().stream()).toList();
  }

  /** Throws {@link IllegalStateException} if there is no such subscription. */
  private List<Members> membersOf(List<String> names) {
    List<String> all = subscriptions().stream().map(Subscription::name).toList();
    for (String name : names) {
      if (!all.contains(name)) {
        throw new IllegalStateException(
            "no such subscription: " + name + " (there is " + all + ")");
      }
    }
    return members.stream()
        .filter(of -> names.isEmpty() || names.contains(of.subscription().name()))
        .toList();
  }

  /** Closes the consumers of the named subscriptions, and forgets them; none named = all. */
  void closeConsumers(List<String> names) {
    for (Members of : membersOf(names)) {
      of.subscription().endProcessing();
      of.consumers().forEach(this::closeQuietly);
      of.consumers().clear();
    }
  }

  /** Closes producers and consumers; the driver stays open. */
  @Override
  public void close() {
    closeConsumers(List.of());
    // Closing a client reports the outcome of what it still had in flight.
    producers.forEach(producer -> closeQuietly(producer.client()));
    histories.forEach(this::closeQuietly);
    closeQuietly(receivingThreads);
  }

  private void closeQuietly(AutoCloseable closeable) {
    try {
      closeable.close();
    } catch (Exception e) {
      errors.add("engine", e);
    }
  }
}
