package io.tidegauge.worker.kafka;

import io.tidegauge.worker.api.MessageSink;
import java.nio.ByteBuffer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;

/** Hands over what a poll returned. */
final class Handover {
  private static final byte[] NO_BYTES = {};

  private Handover() {}

  /**
   * Hands over one poll's messages from the arrays that the fetch responses lie in; nothing is
   * copied.
   */
  static void deliver(
      ConsumerRecords<ByteBuffer, ByteBuffer> batch,
      int topicIndex,
      MessageSink sink,
      long receivedMonoNs) {
    for (ConsumerRecord<ByteBuffer, ByteBuffer> record : batch) {
      ByteBuffer value = record.value();
      if (value == null) {
        sink.received(topicIndex, record.partition(), NO_BYTES, 0, 0, receivedMonoNs);
      } else if (value.hasArray()) {
        sink.received(
            topicIndex,
            record.partition(),
            value.array(),
            value.arrayOffset() + value.position(),
            value.remaining(),
            receivedMonoNs);
      } else {
        byte[] copy = new byte[value.remaining()];
        value.duplicate().get(copy);
        sink.received(topicIndex, record.partition(), copy, 0, copy.length, receivedMonoNs);
      }
    }
  }
}
