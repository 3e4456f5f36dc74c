package io.tidegauge.worker.bench;

import com.google.protobuf.ByteString;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverFactory;
import io.tidegauge.worker.api.SubscriptionType;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.Arrival;
import io.tidegauge.worker.engine.Trial;
import io.tidegauge.worker.engine.TrialPlan;
import io.tidegauge.worker.engine.check.ConsumerWork;
import io.tidegauge.worker.engine.load.Keys;
import io.tidegauge.worker.engine.os.ProcessUse;
import io.tidegauge.worker.proto.SubscriptionTotals;
import io.tidegauge.worker.proto.TotalFigures;
import io.tidegauge.worker.proto.WindowFigures;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.stream.IntStream;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/**
 * The cost of the engine itself: a trial with all recording and checking on, in a closed loop
 * ({@code rate=0}) or at a fixed rate, on the null system unless another driver is named. Producers
 * and consumers are counted for each topic.
 *
 * <pre>
 * EngineBench [driver=null|inline|kafka] [topics=1] [producers=1] [consumers=1] [partitions=1] [bytes=1024] [rate=0] [seconds=5] [warm=3] [precision=5] [grain=MICROSECONDS]
 * </pre>
 */
public final class EngineBench {
  private EngineBench() {}

  public static void main(String[] args) throws Exception {
    Options options = new Options(args);
    TrialPlan plan = plan(options);
    long warmMs = options.number("warm", 3) * 1_000L;
    long measuredMs = options.number("seconds", 5) * 1_000L;
    try (Driver driver = driver(options.text("driver", "null"), options.connection())) {
      Trial trial = Trial.prepare(plan, driver);
      long start = trial.start(0);
      long from = start + warmMs * 1_000_000;
      trial.setWindow(from, from + measuredMs * 1_000_000);
      Thread.sleep(warmMs + measuredMs + 100);
      trial.stopProducers(10_000);
      awaitDrain(trial);
      TotalFigures totals = trial.totals();
      print(options, totals, measuredMs / 1e3);
      trial.finish(true);
    }
    System.exit(0);
  }

  private static void awaitDrain(Trial trial) throws InterruptedException {
    for (int i = 0; i < 300; i++) {
      if (trial.totals().getSubscriptionsList().stream().allMatch(s -> s.getLost() == 0)) {
        return;
      }
      Thread.sleep(100);
    }
  }

  private static TrialPlan plan(Options options) {
    double rate = options.number("rate", 0);
    return new TrialPlan(
        System.nanoTime(),
        42,
        topics(options),
        new TrialPlan.Users(options.number("producers", 1), 1, options.number("consumers", 1), 0),
        new TrialPlan.Payload(options.number("bytes", 1_024), 1, "", 256),
        new TrialPlan.KeyRange(Keys.Choice.NONE, 0),
        new TrialPlan.Load(
            rate == 0 ? Arrival.CLOSED_LOOP : Arrival.UNIFORM, rate, null, 5_000_000),
        options.client(),
        new TrialPlan.Variant(
            SubscriptionType.BY_PARTITION,
            false,
            "",
            options.number("precision", (int) (100 * TrialPlan.Variant.SPIN_SHARE_MAX)) / 100.0,
            options.number("grain", -1) * 1_000L,
            ConsumerWork.NONE,
            null));
  }

  private static List<TopicSpec> topics(Options options) {
    String name = options.text("topic", "bench-" + System.nanoTime());
    return IntStream.range(0, options.number("topics", 1))
        .mapToObj(t -> new TopicSpec(name + "-" + t, options.number("partitions", 1), 1, Map.of()))
        .toList();
  }

  static Driver driver(String name, Map<String, String> connection) throws Exception {
    if (name.equals("inline")) {
      return new InlineDriver(connection);
    }
    for (DriverFactory factory : ServiceLoader.load(DriverFactory.class)) {
      if (factory.name().equals(name)) {
        return factory.open(connection);
      }
    }
    throw new IllegalArgumentException("no driver " + name);
  }

  private static void print(Options options, TotalFigures t, double seconds) {
    WindowFigures w = t.getWindow();
    double rate = w.getAckedWithin() / seconds;
    double cpuPerMillion = w.getWorkerCpuNs() / 1e9 / (w.getAckedWithin() / 1e6);
    System.out.printf(
        "bytes %s topics %s producers %s: %,.0f msg/s, %.3f CPU-s per million, %.2f CPUs, RSS %.0f MB%n",
        options.text("bytes", "1024"),
        options.text("topics", "1"),
        options.text("producers", "1"),
        rate,
        cpuPerMillion,
        w.getWorkerCpuNs() / 1e9 / seconds,
        ProcessUse.residentBytes() / 1e6);
    System.out.println("  response us: " + summary(w.getResponse()));
    System.out.println("  delay us:    " + summary(w.getDelay()));
    System.out.println("  own lag us:  " + summary(w.getOwnLag()));
    for (SubscriptionTotals s : t.getSubscriptionsList()) {
      System.out.println("  e2e us:      " + summary(s.getEndToEnd()));
      System.out.printf(
          "  received %,d of %,d, lost %d duplicated %d reordered %d corrupt %d%n",
          s.getUnique(),
          t.getAcked(),
          s.getLost(),
          s.getDuplicated(),
          s.getReordered(),
          s.getCorrupt());
    }
    System.out.printf(
        "  intended %,d, gc pause %.1f ms, cpu wait %.1f ms, errors %s%n",
        w.getIntended(), w.getGcPauseNs() / 1e6, w.getCpuWaitNs() / 1e6, errors(t));
  }

  private static List<String> errors(TotalFigures t) {
    return t.getErrorsList().stream()
        .map(e -> e.getWhere() + ": " + e.getMessage() + " (" + e.getCount() + ")")
        .toList();
  }

  private static String summary(ByteString encoded) {
    try {
      Histogram h =
          Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(encoded.toByteArray()), 1);
      return String.format(
          "p50 %.1f p90 %.1f p99 %.1f p99.9 %.1f max %.1f",
          h.getValueAtPercentile(50) / 1e3,
          h.getValueAtPercentile(90) / 1e3,
          h.getValueAtPercentile(99) / 1e3,
          h.getValueAtPercentile(99.9) / 1e3,
          h.getMaxValue() / 1e3);
    } catch (DataFormatException e) {
      throw new IllegalStateException(e);
    }
  }
}
