package io.tidegauge.worker.engine;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.Progress;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.load.Keys;
import io.tidegauge.worker.engine.load.Live;
import io.tidegauge.worker.engine.load.LoadThreads;
import io.tidegauge.worker.engine.load.Producer;
import io.tidegauge.worker.engine.schedule.RateProfile;
import io.tidegauge.worker.engine.schedule.Schedule;
import io.tidegauge.worker.engine.schedule.UniformArrivals;
import io.tidegauge.worker.proto.SecondFigures;
import io.tidegauge.worker.proto.WindowFigures;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

/** Figures of whole trials on a system whose every answer is given by hand. */
class TrialFiguresTest {
  private static final int BYTES = 100;
  private static final int IN_FLIGHT_MAX = 3;
  private static final long MS_NS = 1_000_000;
  private static final long GRACE_MS = 3_000;

  private final ByHand system = new ByHand();

  private static TrialPlan plan(Arrival arrival) {
    ClientOptions client =
        new ClientOptions(0, 0, "none", IN_FLIGHT_MAX, 10, 1, "all", BYTES, Map.of(), Map.of(), 0);
    return new TrialPlan(
        9,
        1,
        List.of(new TopicSpec("t", 1, 1, Map.of())),
        new TrialPlan.Users(1, 1, 1, 0),
        new TrialPlan.Payload(BYTES, 1, "", 1),
        new TrialPlan.KeyRange(Keys.Choice.NONE, 0),
        new TrialPlan.Load(arrival, 1_000, null, 0),
        client,
        TrialPlan.Variant.NONE);
  }

  private static Histogram decoded(ByteString encoded) throws Exception {
    return Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(encoded.toByteArray()), 1);
  }

  /** Each acknowledgement makes room for exactly one message. */
  @Test
  void neverMoreThanTheWindowIsInFlight() throws Exception {
    BlockingQueue<InFlight> unanswered = new LinkedBlockingQueue<>();
    AtomicInteger inFlight = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    system.onSend =
        message -> {
          most.accumulateAndGet(inFlight.incrementAndGet(), Math::max);
          unanswered.add(message);
        };
    Trial trial = Trial.prepare(plan(Arrival.CLOSED_LOOP), system);
    trial.start(0);
    for (int i = 0; i < 1_000; i++) {
      InFlight first = unanswered.poll(60, TimeUnit.SECONDS);
      assertThat(first).isNotNull();
      inFlight.decrementAndGet();
      first.acked();
    }
    system.onFlush = () -> unanswered.forEach(InFlight::acked);
    trial.stopProducers(GRACE_MS);
    trial.finish(false);
    assertThat(most.get()).isEqualTo(IN_FLIGHT_MAX);
  }

  @Test
  void aStopFlushesWhatTheClientsHoldBack() throws Exception {
    BlockingQueue<InFlight> held = new LinkedBlockingQueue<>();
    system.onSend = held::add;
    system.onFlush = () -> held.forEach(InFlight::acked);
    Trial trial = Trial.prepare(plan(Arrival.CLOSED_LOOP), system);
    trial.start(0);
    while (held.isEmpty()) {
      Thread.onSpinWait();
    }
    assertThat(trial.stopProducers(GRACE_MS)).isZero();
    trial.finish(false);
    assertThat(trial.totals().getAcked()).isEqualTo(trial.totals().getSent()).isPositive();
  }

  /** What a call of the client holds up is waiting time of the messages behind it. */
  @Test
  void responseCountsFromTheIntendedTimeAndServiceFromTheSend() throws Exception {
    long[] begunNs = new long[1];
    AtomicInteger sends = new AtomicInteger();
    system.onSend =
        message -> {
          message.acked();
          if (sends.getAndIncrement() == 0) {
            while (System.nanoTime() < begunNs[0] + 300 * MS_NS) {
              Thread.onSpinWait();
            }
          }
        };
    Trial trial = Trial.prepare(plan(Arrival.UNIFORM), system);
    begunNs[0] = System.nanoTime();
    trial.setWindow(begunNs[0], 0);
    trial.start(begunNs[0]);
    while (sends.get() < 3) {
      Thread.sleep(1);
    }
    trial.stopProducers(GRACE_MS);
    trial.finish(false);
    WindowFigures window = trial.totals().getWindow();
    Histogram response = decoded(window.getResponse());
    Histogram service = decoded(window.getService());
    assertThat(response.getTotalCount()).isEqualTo(service.getTotalCount());
    assertThat(response.getMean()).isGreaterThan(service.getMean());
  }

  /** A message that came although its send failed is not one of those acknowledged. */
  @Test
  void whatFailedAndCameHidesNoBacklog() throws Exception {
    TrialPlan plan = plan(Arrival.UNIFORM);
    Producer.Context context = Trial.contextOf(plan);
    Live live = context.live();
    Clients clients =
        new ClientMaker(plan, system, plan.topics(), context, Progress.NONE).makeAll();
    AtomicInteger sends = new AtomicInteger();
    system.onSend =
        message -> {
          if (sends.getAndIncrement() == 0) {
            system.sink.received(0, 0, message.value(), 0, BYTES, System.nanoTime());
            message.failed(new IOException("timed out"));
          } else {
            message.acked();
            live.aborted = true;
          }
        };
    long now = System.nanoTime();
    live.profile = RateProfile.startingAt(now, 1_000);
    clients.producers().get(0).follow(new Schedule(new UniformArrivals(0, 1), live.profile));
    LoadThreads threads =
        new LoadThreads(clients.producers(), context, system.retainsValue(), 0, 1_000, 1, 0, 0);
    SecondReader reader = new SecondReader(plan, context, clients, threads);
    threads.start();
    threads.join(60_000);
    threads.stop();
    SecondFigures second = reader.read(0, now, System.nanoTime());
    clients.close();
    assertThat(second.getAcked()).isEqualTo(1);
    assertThat(second.getFailed()).isEqualTo(1);
    assertThat(second.getSubscriptions(0).getReceived()).isEqualTo(1);
    assertThat(second.getSubscriptions(0).getBacklog()).isEqualTo(1);
  }

  /** Does with each message what the test says. */
  private static final class ByHand implements Driver, MessageProducer, MessageConsumer {
    volatile Consumer<InFlight> onSend = message -> {};
    volatile Runnable onFlush = () -> {};
    volatile MessageSink sink;

    @Override
    public void send(InFlight message) {
      onSend.accept(message);
    }

    @Override
    public void flush() {
      onFlush.run();
    }

    @Override
    public MessageProducer createProducer(ProducerSpec spec) {
      return this;
    }

    @Override
    public MessageConsumer createConsumer(ConsumerSpec spec, MessageSink to) {
      sink = to;
      return this;
    }

    @Override
    public boolean retainsValue() {
      return true;
    }

    @Override
    public void createTopics(List<TopicSpec> topics) {}

    @Override
    public void deleteTopics(List<String> names) {}

    @Override
    public List<EffectiveSetting> describe(List<String> topics) {
      return List.of();
    }

    @Override
    public List<EffectiveSetting> clientSettings() {
      return List.of();
    }

    @Override
    public void pause() {}

    @Override
    public void resume() {}

    @Override
    public void close() {}
  }
}
