package io.tidegauge.worker.nats;

import io.nats.client.api.CompressionOption;
import io.nats.client.api.PersistMode;
import io.nats.client.api.StorageType;
import io.nats.client.api.StreamConfiguration;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.drivers.SettingChecks;
import java.util.List;
import java.util.Map;

/**
 * What the streams of a topic are to be.
 *
 * @param replicas 0 = as many as the cluster gives
 */
record TopicSettings(
    StorageType storage, int replicas, PersistMode persistMode, CompressionOption compression) {
  static final String STORAGE = "storage";
  static final String REPLICAS = "replicas";
  static final String PERSIST_MODE = "persist_mode";
  static final String COMPRESSION = "compression";

  static TopicSettings of(TopicSpec spec) throws DriverException {
    Map<String, String> given = spec.settings();
    SettingChecks.checkNames(
        Connection.SYSTEM,
        "topic setting",
        given.keySet(),
        List.of(STORAGE, REPLICAS, PERSIST_MODE, COMPRESSION));
    boolean memory = isSecond(given, STORAGE, "file", "memory");
    boolean async = isSecond(given, PERSIST_MODE, "default", "async");
    boolean s2 = isSecond(given, COMPRESSION, "none", "s2");
    return new TopicSettings(
        memory ? StorageType.Memory : StorageType.File,
        SettingChecks.parseWholeNumber(
            Connection.SYSTEM, given, REPLICAS, spec.replicationFactor(), 1),
        async ? PersistMode.Async : null,
        s2 ? CompressionOption.S2 : CompressionOption.None);
  }

  private static boolean isSecond(
      Map<String, String> given, String name, String first, String second) throws DriverException {
    String value = given.getOrDefault(name, first);
    if (!value.equals(first) && !value.equals(second)) {
      throw new DriverException(
          "NATS's " + name + " must be " + first + " or " + second + ", not \"" + value + "\"");
    }
    return value.equals(second);
  }

  StreamConfiguration configuration(String stream) {
    StreamConfiguration.Builder builder =
        StreamConfiguration.builder()
            .name(stream)
            .subjects(stream)
            .storageType(storage)
            .compressionOption(compression);
    if (replicas > 0) {
      builder.replicas(replicas);
    }
    if (persistMode != null) {
      builder.persistMode(persistMode);
    }
    return builder.build();
  }
}
