package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.message.MessageHeader;
import java.util.function.Supplier;

/**
 * Counts the messages that one consumer reads from topics that others fill. Of their content
 * nothing is known and nothing claimed; messages that an earlier trial of Tidegauge made carry
 * checksums, which are verified. One thread at a time.
 */
public final class ForeignChecker implements MessageSink {
  private final ReceiveRecorder recorder;
  private final Supplier<Window> window;
  private final ErrorLog errors;

  public ForeignChecker(Subscription subscription, CheckContext context) {
    this.window = context.window();
    this.errors = context.errors();
    this.recorder = new ReceiveRecorder(context.threads());
    subscription.add(recorder);
  }

  @Override
  public void received(
      int topic, int partition, byte[] array, int offset, int length, long receivedMonoNs) {
    recorder.arrived(length);
    recorder.foreign(window.get(), receivedMonoNs);
    if (length < MessageHeader.BYTES || !MessageHeader.isOurs(array, offset)) {
      recorder.count(ReceiveRecorder.FOREIGN);
      return;
    }
    recorder.count(ReceiveRecorder.VERIFIED);
    if (!MessageHeader.isBodyIntact(array, offset, length)) {
      recorder.count(ReceiveRecorder.CORRUPT);
    }
  }

  @Override
  public void damaged(int topic, int partition, Throwable cause) {
    recorder.count(ReceiveRecorder.CORRUPT);
  }

  @Override
  public void error(Throwable cause) {
    errors.add("receive", cause);
  }
}
