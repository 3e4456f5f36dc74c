package io.tidegauge.worker.engine;

import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.Progress;
import io.tidegauge.worker.api.TopicSpec;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.engine.figures.SecondsLog;
import io.tidegauge.worker.engine.figures.Window;
import io.tidegauge.worker.engine.load.AckRecorder;
import io.tidegauge.worker.engine.load.AckRecorders;
import io.tidegauge.worker.engine.load.Live;
import io.tidegauge.worker.engine.load.LoadRecorder;
import io.tidegauge.worker.engine.load.LoadThreads;
import io.tidegauge.worker.engine.load.Producer;
import io.tidegauge.worker.engine.message.PayloadPool;
import io.tidegauge.worker.engine.os.ProcessUse;
import io.tidegauge.worker.engine.schedule.Arrivals;
import io.tidegauge.worker.engine.schedule.PoissonArrivals;
import io.tidegauge.worker.engine.schedule.RateProfile;
import io.tidegauge.worker.engine.schedule.RateSchedule;
import io.tidegauge.worker.engine.schedule.Schedule;
import io.tidegauge.worker.engine.schedule.UniformArrivals;
import io.tidegauge.worker.proto.TotalFigures;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * One measurement on one system: from its topics and clients to its final figures. Every method may
 * be called from any thread; {@link #totals} and {@link #seconds} change nothing.
 *
 * <p>Methods throw {@link IllegalStateException} with the reason when they come at the wrong time.
 */
public final class Trial {
  private static final long END_MS_MAX = 2_000;

  private final TrialPlan plan;
  private final Producer.Context context;
  private final Live live;
  private final TopicsOfTrial topics;
  private final Clients clients;
  private final EffectiveOptions options;
  private final LoadThreads threads;
  private final SecondsLog log = new SecondsLog(SecondsLog.BYTES_MAX);
  private final WindowUse use;
  private final Sampler sampler;
  private final long cpuNsBefore = ProcessUse.cpuNs();
  private final long gcPauseNsBefore = ProcessUse.gcPauseNs();
  private double msgsPerS;

  /** What the rate was before a window's schedule began; null while the trial is not started. */
  private RateProfile steady;

  private boolean stopped;
  private boolean ended;
  private volatile boolean finished;
  private TotalFigures finalTotals;
  private List<SequencesReader.Sent> finalSent;

  private Trial(
      TrialPlan plan,
      Producer.Context context,
      TopicsOfTrial topics,
      Clients clients,
      EffectiveOptions options) {
    this.plan = plan;
    this.context = context;
    this.live = context.live();
    this.topics = topics;
    this.clients = clients;
    this.options = options;
    this.msgsPerS = isClosedLoop() ? 0 : plan.load().msgsPerS();
    this.threads =
        new LoadThreads(
            clients.producers(),
            context,
            options.ownValues(),
            plan.load().ownLagToleranceNs(),
            options.sendsMayBlock() ? Double.POSITIVE_INFINITY : plan.load().msgsPerSMax(),
            plan.producers(),
            plan.variant().spinShareMax(),
            options.grainNs());
    this.use = new WindowUse(threads::cpuWaitNs);
    this.sampler =
        new Sampler(
            context,
            clients,
            () -> new SecondReader(plan, context, clients, threads),
            threads,
            log,
            use);
  }

  /**
   * Creates topics, consumers and producers. Consumers begin to read; nothing is sent yet.
   *
   * @param driver stays open after the trial; the caller closes it
   */
  public static Trial prepare(TrialPlan plan, Driver driver) throws DriverException {
    return prepare(plan, driver, Progress.NONE);
  }

  /** The same, reporting how far it has come. */
  public static Trial prepare(TrialPlan plan, Driver driver, Progress progress)
      throws DriverException {
    plan.requireRoom(Runtime.getRuntime().maxMemory());
    Producer.Context context = contextOf(plan);
    driver.report(progress);
    TopicsOfTrial topics = TopicsOfTrial.open(plan, driver);
    Clients clients = new ClientMaker(plan, driver, topics.all(), context, progress).makeAll();
    return new Trial(plan, context, topics, clients, new EffectiveOptions(plan, driver));
  }

  /** What all parts of a trial share. */
  static Producer.Context contextOf(TrialPlan plan) throws DriverException {
    return new Producer.Context(
        plan.trialId(), poolOf(plan), new Live(), new AckRecorders(), new ErrorLog());
  }

  private static PayloadPool poolOf(TrialPlan plan) throws DriverException {
    TrialPlan.Payload p = plan.payload();
    if (!p.sizes().isEmpty()) {
      int[] sizes = p.sizes().stream().mapToInt(bytes -> bytes).toArray();
      return PayloadPool.seeded(plan.seed(), sizes, p.randomShare());
    }
    if (p.file().isEmpty()) {
      return PayloadPool.seeded(plan.seed(), p.messageBytes(), p.randomShare(), p.poolBodies());
    }
    try {
      return p.given()
          ? PayloadPool.given(Path.of(p.file()))
          : PayloadPool.fromFile(Path.of(p.file()), p.messageBytes(), p.poolBodies());
    } catch (IOException e) {
      throw new DriverException("the payload file can't be used: " + ErrorLog.describe(e), e);
    }
  }

  /** Creates this worker's share of the topics; {@link #prepare} follows once all workers have. */
  public static void createTopics(TrialPlan plan, Driver driver, Progress progress)
      throws DriverException {
    TopicsOfTrial.createShare(plan, driver, progress);
  }

  public TrialPlan plan() {
    return plan;
  }

  /** When the schedule began; 0 before that. */
  public long startedNs() {
    RateProfile profile = live.profile;
    return profile == null ? 0 : profile.startNs();
  }

  /** Whether the measured window is over. */
  public boolean isMeasured() {
    Window window = live.window;
    return startedNs() != 0 && window.isSet() && System.nanoTime() - window.untilNs() >= 0;
  }

  /** Partitions of each topic, in the plan's order. */
  public List<Integer> partitions() {
    return topics.all().stream().map(TopicSpec::partitions).toList();
  }

  /** What the clients were really given. */
  public List<EffectiveSetting> clientSettings() {
    return options.settings(loadThreads(), context.pool().size());
  }

  public int loadThreads() {
    return threads.count();
  }

  /** Schedules begin at the given instant, or now if it has passed. Returns the first instant. */
  public synchronized long start(long atMonoNs) {
    require(!finished, "the trial is finished");
    require(live.profile == null, "the trial has been started before");
    long at = Math.max(atMonoNs, System.nanoTime());
    RateProfile profile = RateProfile.startingAt(at, msgsPerS);
    int count = plan.producers();
    for (Producer p : clients.producers()) {
      if (!isClosedLoop()) {
        p.follow(new Schedule(arrivals(p.index(), count), profile));
      }
      p.limitWindow(plan.load().windowMessagesOf(p.index(), count));
    }
    steady = profile;
    live.profile = profile;
    threads.start();
    sampler.start();
    return at;
  }

  private boolean isClosedLoop() {
    return plan.load().arrival() == Arrival.CLOSED_LOOP;
  }

  private Arrivals arrivals(int producer, int count) {
    return plan.load().arrival() == Arrival.POISSON
        ? new PoissonArrivals(plan.seed(), producer, count)
        : new UniformArrivals(producer, count);
  }

  /** A new total rate from an instant on, or from now if it has passed. */
  public synchronized void setRate(double newMsgsPerS, long atMonoNs) {
    require(!finished, "the trial is finished");
    require(!isClosedLoop(), "a closed loop has no rate");
    require(plan.load().schedule() == null, "the rate follows a schedule");
    RateProfile profile = live.profile;
    if (profile == null) {
      msgsPerS = newMsgsPerS;
      return;
    }
    live.profile = profile.withRate(Math.max(atMonoNs, System.nanoTime()), newMsgsPerS);
    threads.wake();
  }

  /**
   * Sets the measured window by intended time; {@code until} 0 = open. Messages are put inside or
   * outside when they are sent and answered, so a window can't begin, nor its end be moved back,
   * before what has happened already. A schedule of rates begins with the window.
   */
  public synchronized void setWindow(long fromMonoNs, long untilMonoNs) {
    RateSchedule schedule = plan.load().schedule();
    Window window = live.window.next(fromMonoNs, untilMonoNs).following(schedule);
    if (schedule != null && window.epoch() != live.window.epoch()) {
      require(steady != null, "the trial has not been started");
      live.profile = steady.withSchedule(fromMonoNs, schedule);
      threads.wake();
    }
    use.set(window, System.nanoTime());
    live.window = window;
    sampler.wake();
  }

  /** Stops delivery to the named subscriptions; none named = all. */
  public synchronized void pauseConsumers(List<String> subscriptions) {
    require(!finished, "the trial is finished");
    clients.consumersOf(subscriptions).forEach(MessageConsumer::pause);
  }

  public synchronized void resumeConsumers(List<String> subscriptions) {
    require(!finished, "the trial is finished");
    clients.consumersOf(subscriptions).forEach(MessageConsumer::resume);
  }

  /** Closes the consumers of the named subscriptions for good; none named = all. */
  public synchronized void closeConsumers(List<String> subscriptions) {
    require(!finished, "the trial is finished");
    clients.closeConsumers(subscriptions);
  }

  /** The figures of each second, the same for every observer. */
  public SecondsLog seconds() {
    return log;
  }

  /**
   * No message is intended from now on. What is owed may still be sent, and what is in flight may
   * still be answered, until the grace period ends. Returns how many messages then have no outcome.
   */
  public synchronized long stopProducers(long graceMs) throws InterruptedException {
    if (!stopped && live.profile != null) {
      stopped = true;
      long now = System.nanoTime();
      live.stopAtNs = now;
      long deadline = now + graceMs * 1_000_000;
      threads.wake();
      while (!threads.haveEnded() && System.nanoTime() < deadline) {
        Thread.sleep(1);
      }
      abortLoad();
      clients.producers().forEach(producer -> producer.client().flush());
      while (unresolved() > 0 && System.nanoTime() < deadline) {
        Thread.sleep(1);
      }
    }
    return unresolved();
  }

  /** After which instant no message was intended; 0 while producers have not been stopped. */
  public long stoppedAtNs() {
    long at = live.stopAtNs;
    return at == Long.MAX_VALUE ? 0 : at;
  }

  private void abortLoad() throws InterruptedException {
    live.aborted = true;
    threads.wake();
    threads.join(END_MS_MAX);
  }

  private long unresolved() {
    long done = context.acks().sum(AckRecorder.FAILED) + context.acks().sum(AckRecorder.ACKED);
    return Math.max(0, threads.sum(LoadRecorder.SENT) - done);
  }

  /** Totals so far; those at the end once the trial is finished. */
  public TotalFigures totals() {
    synchronized (log) {
      if (finalTotals != null) {
        return finalTotals;
      }
    }
    return readTotals();
  }

  /**
   * Tells which sequences were sent and received so far, or at the end once the trial is finished:
   * first of each producer, then of each subscription.
   */
  public void sequences(SequencesSink sink) throws InterruptedException {
    List<SequencesReader.Sent> sent;
    synchronized (log) {
      sent = finalSent;
    }
    SequencesReader reader = new SequencesReader(clients);
    reader.read(sent == null ? reader.sent() : sent, plan.producers(), sink);
  }

  private TotalFigures readTotals() {
    return new TotalsReader(plan, context, clients, threads, use)
        .read(log.count(), cpuNsBefore, gcPauseNsBefore);
  }

  /** Ends the load and the seconds; consumers go on. */
  public synchronized void end() throws InterruptedException {
    if (ended) {
      return;
    }
    ended = true;
    if (live.profile != null) {
      live.stopAtNs = Math.min(live.stopAtNs, System.nanoTime());
      abortLoad();
      sampler.stop();
      threads.stop();
    }
    log.close();
  }

  /**
   * Ends the load, closes the clients and, if asked, deletes the topics. The figures stay readable.
   */
  public synchronized void finish(boolean deleteTopics)
      throws DriverException, InterruptedException {
    if (finished) {
      return;
    }
    end();
    finished = true;
    TotalFigures totals = readTotals();
    // Closing the clients tells outcomes of what is in flight still, which the totals don't know.
    List<SequencesReader.Sent> sent = new SequencesReader(clients).sent();
    synchronized (log) {
      finalTotals = totals;
      finalSent = sent;
    }
    clients.close();
    topics.remove(deleteTopics);
  }

  private static void require(boolean good, String message) {
    if (!good) {
      throw new IllegalStateException(message);
    }
  }
}
