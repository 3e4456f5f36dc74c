package io.tidegauge.worker.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.proto.*;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a worker leaves on its disk of a trial that was measured. */
class ResultsTest {
  @TempDir Path directory;
  private Results results;
  private TestWorker worker;

  @BeforeEach
  void start() throws Exception {
    results = new Results(directory.resolve("results"));
    worker = new TestWorker(results);
  }

  @AfterEach
  void stop() {
    worker.close();
  }

  private static final LeftResultsRequest TRIAL =
      LeftResultsRequest.newBuilder().setTrialId(77).build();

  private List<ResultsPart> left() {
    List<ResultsPart> all = new ArrayList<>();
    worker.stub.leftResults(TRIAL).forEachRemaining(all::add);
    return all;
  }

  private List<String> files() throws IOException {
    try (Stream<Path> files = Files.list(directory.resolve("results"))) {
      return files.map(file -> file.getFileName().toString()).toList();
    }
  }

  private void measure() throws InterruptedException {
    worker.stub.prepare(TestWorker.order(Map.of("lose", "at:17"), 5_000).build());
    worker.startMeasured(300);
    Thread.sleep(400);
    worker.await(t -> t.getWindow().getAcked() > 100);
  }

  @Test
  void aFinishedTrialIsThereAsAWholeHoweverOftenItIsAskedFor() throws Exception {
    measure();
    TotalFigures totals = worker.stop();
    List<ResultsPart> left = left();
    assertThat(left()).isEqualTo(left);
    assertThat(left.get(0).getHeader().getReason()).isEqualTo("the trial is finished");
    assertThat(left.get(0).getHeader().getStartedMonoNs()).isPositive();
    List<SequencesPart> sequences = new ArrayList<>();
    worker.stub.sequences(SequencesRequest.getDefaultInstance()).forEachRemaining(sequences::add);
    assertThat(left.stream().filter(ResultsPart::hasSequences).map(ResultsPart::getSequences))
        .isEqualTo(sequences);
    TotalFigures kept = left.get(left.size() - 1).getTotals();
    assertThat(kept.getSubscriptionsList()).isEqualTo(totals.getSubscriptionsList());
    assertThat(kept.getSubscriptions(0).getLost()).isOne();
    assertThat(kept.getWindow().getResponse()).isEqualTo(totals.getWindow().getResponse());
    checkSeconds(left);
    assertThat(files()).containsExactly("000000000000004d-1-of-1.results");
  }

  private static void checkSeconds(List<ResultsPart> left) {
    long sent =
        left.stream()
            .filter(ResultsPart::hasSecond)
            .mapToLong(part -> part.getSecond().getSent())
            .sum();
    assertThat(sent).isEqualTo(left.get(left.size() - 1).getTotals().getSent()).isPositive();
  }

  @Test
  void aProcessThatEndsAfterTheWindowStopsDrainsAndWrites() throws Exception {
    measure();
    results.keep("its controller is gone");
    List<ResultsPart> left = left();
    assertThat(left.get(0).getHeader().getReason()).isEqualTo("its controller is gone");
    TotalFigures totals = left.get(left.size() - 1).getTotals();
    assertThat(totals.getUnresolved()).isZero();
    assertThat(totals.getSubscriptions(0).getLost()).isOne();
    assertThat(totals.getSubscriptions(0).getUnique()).isEqualTo(totals.getSent() - 1);
    checkSeconds(left);
    Files.delete(directory.resolve("results").resolve(files().get(0)));
    results.keep("and again");
    assertThat(left()).isEmpty();
  }

  @Test
  void beforeTheWindowIsOverThereIsNothingToKeep() throws Exception {
    worker.stub.prepare(TestWorker.order(Map.of(), 5_000).build());
    worker.startMeasured(60_000);
    results.keep("its controller is gone");
    assertThat(left()).isEmpty();
    worker.stop();
    assertThat(left()).isEmpty();
  }

  @Test
  void theyGoWhenAskedForAndWhenTheTrialIsPreparedAnew() throws Exception {
    measure();
    worker.stop();
    worker.stub.removeLeftResults(TRIAL);
    assertThat(left()).isEmpty();
    worker.stub.removeLeftResults(TRIAL);
    measure();
    worker.stop();
    assertThat(left()).isNotEmpty();
    worker.stub.prepare(TestWorker.order(Map.of(), 5_000).build());
    assertThat(left()).isEmpty();
    worker.stub.finish(FinishRequest.getDefaultInstance());
  }

  @Test
  void aDiskThatCannotBeWrittenFailsNoTrial() throws Exception {
    Files.writeString(directory.resolve("results"), "no directory");
    measure();
    assertThat(worker.stop().getSubscriptions(0).getLost()).isOne();
  }
}
