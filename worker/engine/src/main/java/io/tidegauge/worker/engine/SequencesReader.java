package io.tidegauge.worker.engine;

import io.tidegauge.worker.engine.check.RoaringForm;
import io.tidegauge.worker.engine.check.SequenceSet;
import io.tidegauge.worker.engine.check.Subscription;
import io.tidegauge.worker.engine.load.Producer;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads the sets of sequences of a trial, a part of one set at a time. Only reads: any number of
 * them may be used at any time, also while messages flow.
 */
final class SequencesReader {
  /** What a producer sent, and a copy of what of it has no good outcome. */
  record Sent(int producer, long count, SequenceSet unknown) {}

  private final Clients clients;

  SequencesReader(Clients clients) {
    this.clients = clients;
  }

  /** Of this worker's producers. */
  List<Sent> sent() {
    List<Sent> all = new ArrayList<>();
    for (Producer p : clients.producers()) {
      // First how many, then which of them have no outcome: one sent in between must not look
      // acknowledged.
      long count = p.sentCount();
      all.add(new Sent(p.index(), count, p.unknown()));
    }
    return all;
  }

  /**
   * @param producersInTrial of all workers
   */
  void read(List<Sent> sent, int producersInTrial, SequencesSink sink) throws InterruptedException {
    for (Sent of : sent) {
      RoaringForm unknown = new RoaringForm(of.unknown(), of.count());
      do {
        sink.sent(of.producer(), of.count(), unknown.next());
      } while (unknown.hasNext());
    }
    for (Subscription s : clients.subscriptions()) {
      for (int p = 0; p < producersInTrial; p++) {
        RoaringForm received = new RoaringForm(s.received(p), Long.MAX_VALUE);
        while (received.hasNext()) {
          sink.received(s.name(), p, received.next());
        }
      }
    }
  }
}
