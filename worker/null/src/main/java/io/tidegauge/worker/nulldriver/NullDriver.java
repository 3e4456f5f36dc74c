package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.TopicSpec;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A messaging system in memory: of this process, where producers deliver to the consumers that
 * exist when they are created, or of a {@link NullServer}.
 */
final class NullDriver implements Driver {
  private static final int HEADER_BYTES = 48;

  private final NullSettings settings;
  private final Map<String, NullTopic> topics = new ConcurrentHashMap<>();
  private final AtomicLong firstSendNs = new AtomicLong();

  NullDriver(NullSettings settings) {
    this.settings = settings;
  }

  @Override
  public void createTopics(List<TopicSpec> specs) throws DriverException {
    for (TopicSpec spec : specs) {
      if (settings.isRemote()) {
        tell(
            Wire.CREATE,
            out -> {
              out.writeUTF(spec.name());
              out.writeInt(spec.partitions());
              out.writeInt(settings.eject().every());
              out.writeInt(settings.eject().unacknowledged());
              out.writeInt(settings.eject().times());
            });
      } else {
        topics.put(spec.name(), new NullTopic(spec.partitions()));
      }
    }
  }

  private void tell(int what, Wire.Question question) throws DriverException {
    Wire.ask(settings.address(), what, question).close();
  }

  @Override
  public void shareTopics(List<TopicSpec> specs, List<String> subscriptions)
      throws DriverException {
    if (!settings.isRemote()) {
      createTopics(specs);
    }
  }

  @Override
  public void deleteTopics(List<String> names) throws DriverException {
    for (String name : names) {
      if (settings.isRemote()) {
        tell(Wire.DELETE, out -> out.writeUTF(name));
      } else {
        topics.remove(name);
      }
    }
  }

  @Override
  public List<EffectiveSetting> describe(List<String> names) {
    return settings.describe();
  }

  @Override
  public MessageProducer createProducer(ProducerSpec spec) throws DriverException {
    if (!settings.flipBody().isNone() && spec.options().messageBytes() <= HEADER_BYTES) {
      throw new DriverException("null driver: flip_body needs messages longer than the header");
    }
    MessageProducer producer =
        settings.isRemote()
            ? new RemoteProducer(settings.address(), spec, settings)
            : localProducer(spec);
    return settings.isDelayed()
        ? new DelayedProducer(
            "null-system-" + spec.clientId(),
            producer,
            spec.options().inFlightMessagesMax(),
            this::outcomeNs)
        : producer;
  }

  private MessageProducer localProducer(ProducerSpec spec) throws DriverException {
    NullTopic.Way[][] ways =
        topic(spec.topic()).ways(spec.options().messageBytesMax(), settings.backlogBytesMax());
    int inFlight = spec.options().inFlightMessagesMax();
    int ackBatch = settings.isDelayed() ? 1 : Math.min(settings.ackBatch(), inFlight);
    return new DirectProducer(new Delivery(settings, ways), ackBatch);
  }

  private long outcomeNs(long sentNs) {
    if (firstSendNs.get() == 0) {
      firstSendNs.compareAndSet(0, sentNs);
    }
    return settings.afterStalls(sentNs + settings.ackDelayNs(), firstSendNs.get());
  }

  @Override
  public MessageConsumer createConsumer(ConsumerSpec spec, MessageSink sink)
      throws DriverException {
    if (settings.isRemote()) {
      return new RemoteConsumer(settings.address(), spec, settings, sink);
    }
    NullTopic topic = topic(spec.topic());
    NullConsumer consumer =
        new NullConsumer(
            spec.clientId(), spec.topicIndex(), sink, spec.startPaused(), settings.consumeNs());
    topic.add(spec.subscription(), consumer);
    return consumer;
  }

  private NullTopic topic(String name) throws DriverException {
    NullTopic topic = topics.get(name);
    if (topic == null) {
      throw new DriverException("null driver: there is no topic " + name);
    }
    return topic;
  }

  @Override
  public List<EffectiveSetting> clientSettings() {
    return List.of(
        new EffectiveSetting("producer", "delayed", String.valueOf(settings.isDelayed()), null),
        new EffectiveSetting("consumer", "copies", "true", null));
  }

  @Override
  public boolean retainsValue() {
    return settings.isDelayed();
  }

  @Override
  public void close() {
    topics.clear();
  }
}
