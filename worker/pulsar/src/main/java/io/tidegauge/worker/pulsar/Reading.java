package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.Threads;
import io.tidegauge.worker.drivers.SharedClients;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.pulsar.client.api.PulsarClient;

/**
 * A client that consumers read with, and the thread that delivers where the client hands messages
 * over by itself. The thread begins with the first of them.
 */
record Reading(PulsarClient client, ExecutorService thread) {
  static Reading with(PulsarClient client, String name) {
    return new Reading(client, Executors.newSingleThreadExecutor(Threads.named("pulsar-" + name)));
  }

  /** Gives up a part; the last one closes the client. */
  static CompletableFuture<Void> release(SharedClients.Hold<Reading> held) {
    if (!held.release()) {
      return CompletableFuture.completedFuture(null);
    }
    Reading reading = held.client();
    // The client may still hand over tasks; a pool that is shut down would throw them back at it,
    // one that idles not.
    return reading
        .client
        .closeAsync()
        .whenComplete((done, failure) -> reading.thread.execute(reading.thread::shutdown));
  }
}
