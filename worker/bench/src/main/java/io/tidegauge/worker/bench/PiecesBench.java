package io.tidegauge.worker.bench;

import io.tidegauge.worker.engine.check.SequenceSet;
import io.tidegauge.worker.engine.histogram.LatencyHistogram;
import io.tidegauge.worker.engine.load.OwnLag;
import io.tidegauge.worker.engine.message.MessageHeader;
import io.tidegauge.worker.engine.message.PayloadPool;
import io.tidegauge.worker.engine.schedule.PoissonArrivals;
import io.tidegauge.worker.engine.schedule.RateProfile;
import io.tidegauge.worker.engine.schedule.Schedule;
import io.tidegauge.worker.engine.schedule.UniformArrivals;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** The pieces of the per-message path, each by itself. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 3, time = 1)
public class PiecesBench {
  @Param({"100", "1024"})
  public int bytes;

  private final LatencyHistogram histogram = new LatencyHistogram();
  private final OwnLag lag = new OwnLag();
  private final SequenceSet.Cursor cursor = new SequenceSet(false).cursor();
  private final SequenceSet.Cursor sharedCursor = new SequenceSet(true).cursor();
  private final RateProfile profile = RateProfile.startingAt(0, 1e6);
  private final Schedule uniform = new Schedule(new UniformArrivals(0, 1), profile);
  private final Schedule poisson = new Schedule(new PoissonArrivals(1, 0, 1), profile);
  private PayloadPool pool;
  private byte[] value;
  private long n;

  /** Makes what depends on the size. */
  @org.openjdk.jmh.annotations.Setup
  public void prepare() {
    pool = PayloadPool.seeded(1, bytes, 1, 256);
    value = pool.newValue(1, 0, 0);
  }

  @Benchmark
  public long clock() {
    return System.nanoTime();
  }

  @Benchmark
  public byte[] writeHeader() {
    MessageHeader.writeMessage(value, n++, n);
    return value;
  }

  @Benchmark
  public int checkHeader() {
    return MessageHeader.checksum(value, 0);
  }

  @Benchmark
  public boolean checkBody() {
    return pool.matches(0, pool.crc(0), value, 0, value.length);
  }

  @Benchmark
  public void recordLatency() {
    histogram.record((n += 997) & 0xFFFFF);
  }

  @Benchmark
  public boolean markSequence() {
    return cursor.add(n++ & 0xFFFFFFF);
  }

  @Benchmark
  public boolean markSequenceShared() {
    return sharedCursor.add(n++ & 0xFFFFFFF);
  }

  @Benchmark
  public long ownLag() {
    return lag.of(n++ & 0xFFF, 0);
  }

  @Benchmark
  public long nextUniform() {
    uniform.advance();
    return uniform.nextNs(profile);
  }

  @Benchmark
  public long nextPoisson() {
    poisson.advance();
    return poisson.nextNs(profile);
  }
}
