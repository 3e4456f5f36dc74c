package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.MessageSink;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;

/** Hands the messages of one partition to the sink and acknowledges them. */
final class Delivery {
  private static final byte[] NO_BYTES = {};

  private final MessageSink sink;
  private final int topicIndex;
  private final int partition;

  Delivery(MessageSink sink, int topicIndex, int partition) {
    this.sink = sink;
    this.topicIndex = topicIndex;
    this.partition = partition;
  }

  /**
   * Delivers a message that the client has just handed over. Its value is the array that the client
   * made of it: messages from the client's pool would need no array but cost more in all, as
   * measured.
   */
  void deliver(Consumer<byte[]> consumer, Message<byte[]> message) {
    long receivedMonoNs = System.nanoTime();
    byte[] value = message.getData();
    if (value == null) {
      value = NO_BYTES;
    }
    sink.received(topicIndex, partition, value, 0, value.length, receivedMonoNs);
    // The client gathers acknowledgements and sends them every 100 ms. One that fails leads to a
    // second delivery.
    var acknowledged = consumer.acknowledgeAsync(message.getMessageId());
    if (acknowledged.isCompletedExceptionally()) {
      sink.error(acknowledged.handle((done, failure) -> failure).join());
    }
  }
}
