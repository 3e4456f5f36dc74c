package io.tidegauge.worker.app;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.tidegauge.worker.engine.SequencesSink;
import io.tidegauge.worker.proto.EffectiveSetting;
import io.tidegauge.worker.proto.ReceivedSequences;
import io.tidegauge.worker.proto.SentSequences;
import io.tidegauge.worker.proto.SequencesPart;
import java.util.List;

/** Settings and sets of sequences as the controller wants them. */
final class ToProto {
  private ToProto() {}

  static List<EffectiveSetting> settings(List<io.tidegauge.worker.api.EffectiveSetting> all) {
    return all.stream().map(ToProto::setting).toList();
  }

  private static EffectiveSetting setting(io.tidegauge.worker.api.EffectiveSetting s) {
    EffectiveSetting.Builder b =
        EffectiveSetting.newBuilder()
            .setScope(s.scope())
            .setName(s.name())
            .setValue(s.value() == null ? "" : s.value());
    if (s.isDefault() != null) {
      b.setIsDefault(s.isDefault());
    }
    if (s.defaultValue() != null) {
      b.setDefaultValue(s.defaultValue());
    }
    return b.build();
  }

  /** Takes sets of sequences as parts of an answer. */
  static SequencesSink parts(Replies.Parts<SequencesPart> parts) {
    return new SequencesSink() {
      @Override
      public void sent(int producer, long sent, byte[] unknown) throws InterruptedException {
        var part =
            SentSequences.newBuilder()
                .setProducer(producer)
                .setSent(sent)
                .setUnknown(bytes(unknown));
        parts.add(SequencesPart.newBuilder().setSent(part).build());
      }

      @Override
      public void received(String subscription, int producer, byte[] received)
          throws InterruptedException {
        var part = ToProto.received(subscription, producer, received);
        parts.add(SequencesPart.newBuilder().setReceived(part).build());
      }
    };
  }

  static ReceivedSequences received(String subscription, int producer, byte[] received) {
    return ReceivedSequences.newBuilder()
        .setSubscription(subscription)
        .setProducer(producer)
        .setReceived(bytes(received))
        .build();
  }

  private static ByteString bytes(byte[] array) {
    return UnsafeByteOperations.unsafeWrap(array);
  }
}
