package io.tidegauge.worker.app;

import io.tidegauge.worker.engine.Trial;
import io.tidegauge.worker.engine.figures.ErrorLog;
import io.tidegauge.worker.proto.LeftResultsRequest;
import io.tidegauge.worker.proto.ResultsHeader;
import io.tidegauge.worker.proto.ResultsPart;
import io.tidegauge.worker.proto.SubscriptionTotals;
import io.tidegauge.worker.proto.TotalFigures;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * Keeps on this host's own disk what was measured, so that it outlives the controller and this
 * process: a file for each trial and worker, of {@link ResultsPart}s, each with its length before
 * it. It is there as a whole or not at all.
 *
 * <p>What is written is all of a trial whose measured window is over; of another there is nothing
 * worth keeping.
 */
final class Results {
  /**
   * Without a controller. Its host's agent, which has noticed as well, lets a process five seconds.
   */
  private static final long STOP_MS_MAX = 1_000;

  private static final long DRAIN_MS_MAX = 1_500;
  private static final long QUIET_MS = 300;
  private static final long POLL_MS = 50;

  /** For writing between two moments at which the figures are the same. */
  private static final int TRIES = 5;

  private final Path directory;

  /** What has not been written yet; null = nothing. */
  private Trial trial;

  /**
   * @param directory is made when it is needed
   */
  Results(Path directory) {
    this.directory = directory;
  }

  /**
   * A trial begins, of which an earlier attempt may have left something; null = none begins yet.
   */
  synchronized void begin(Trial next) {
    trial = next;
    if (next != null) {
      attempt(() -> delete(file(next)));
    }
  }

  /** The trial is being finished: whoever asked for that has waited for what is on its way. */
  synchronized void finish() {
    if (trial != null && trial.isMeasured()) {
      attempt(() -> write("the trial is finished"));
    }
    trial = null;
  }

  /** This process ends. */
  synchronized void keep(String reason) {
    if (trial != null && trial.isMeasured()) {
      attempt(
          () -> {
            trial.stopProducers(STOP_MS_MAX);
            awaitQuiet();
            write(reason);
          });
    }
    trial = null;
  }

  private interface Work {
    void run() throws InterruptedException;
  }

  /** What fails here, on a full disk say, must neither fail a trial nor hinder the end. */
  private static void attempt(Work work) {
    try {
      work.run();
    } catch (RuntimeException e) {
      System.err.println("tidegauge worker: no results are kept: " + ErrorLog.describe(e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Hands over what was written; nothing if there is nothing. */
  void read(LeftResultsRequest request, Replies.Parts<ResultsPart> parts)
      throws InterruptedException {
    try (InputStream in = Files.newInputStream(file(request))) {
      ResultsPart part;
      while ((part = ResultsPart.parseDelimitedFrom(in)) != null) {
        parts.add(part);
      }
    } catch (NoSuchFileException e) {
      // There is nothing.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  void remove(LeftResultsRequest request) {
    delete(file(request));
  }

  private static void delete(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Path file(Trial of) {
    return file(of.plan().trialId(), of.plan().share().worker(), of.plan().share().workers());
  }

  private Path file(LeftResultsRequest request) {
    boolean alone = !request.hasShare();
    return file(
        request.getTrialId(),
        alone ? 0 : request.getShare().getWorker(),
        alone ? 1 : request.getShare().getWorkers());
  }

  private Path file(long trialId, int worker, int workers) {
    return directory.resolve("%016x-%d-of-%d.results".formatted(trialId, worker + 1, workers));
  }

  /** Until nothing has arrived for a while. Nobody here knows what other workers have sent. */
  private void awaitQuiet() throws InterruptedException {
    long now = System.nanoTime();
    long deadline = now + DRAIN_MS_MAX * 1_000_000;
    long since = now;
    TotalFigures seen = trial.totals();
    while (now - deadline < 0 && now - since < QUIET_MS * 1_000_000) {
      Thread.sleep(POLL_MS);
      now = System.nanoTime();
      TotalFigures totals = trial.totals();
      if (!alike(seen, totals)) {
        seen = totals;
        since = now;
      }
    }
  }

  private static boolean alike(TotalFigures before, TotalFigures after) {
    return before.getAcked() == after.getAcked()
        && before.getFailed() == after.getFailed()
        && received(before) == received(after);
  }

  private static long received(TotalFigures totals) {
    return totals.getSubscriptionsList().stream().mapToLong(SubscriptionTotals::getReceived).sum();
  }

  /** Sets of sequences and counts are written as of one moment, if there is one. */
  private void write(String reason) throws InterruptedException {
    trial.end();
    Path file = file(trial);
    Path next = file.resolveSibling(file.getFileName() + ".new");
    try {
      Files.createDirectories(directory);
      for (int i = 0; i < TRIES && !writeTo(next, reason); i++) {
        Thread.sleep(POLL_MS);
      }
      Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private boolean writeTo(Path next, String reason) throws IOException, InterruptedException {
    TotalFigures before = trial.totals();
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(next))) {
      ResultsHeader header =
          ResultsHeader.newBuilder().setStartedMonoNs(trial.startedNs()).setReason(reason).build();
      ResultsPart.newBuilder().setHeader(header).build().writeDelimitedTo(out);
      var log = trial.seconds();
      for (var second = log.next(0, 0);
          second != null;
          second = log.next(second.getSecond() + 1, 0)) {
        ResultsPart.newBuilder().setSecond(second).build().writeDelimitedTo(out);
      }
      trial.sequences(
          ToProto.parts(
              part -> {
                try {
                  ResultsPart.newBuilder().setSequences(part).build().writeDelimitedTo(out);
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              }));
      TotalFigures after = trial.totals();
      ResultsPart.newBuilder().setTotals(after).build().writeDelimitedTo(out);
      return alike(before, after);
    }
  }
}
