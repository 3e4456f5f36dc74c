package io.tidegauge.worker.engine.check;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The threads that hand messages to a trial's consumers, whichever client they belong to. */
public final class ReceivingThreads implements AutoCloseable {
  private final Map<Thread, ReceivingThread> known = new ConcurrentHashMap<>();

  /** The calling thread. Takes no lock, unless it calls for the first time. */
  ReceivingThread current() {
    Thread thread = Thread.currentThread();
    ReceivingThread found = known.get(thread);
    return found != null
        ? found
        : known.computeIfAbsent(thread, t -> ReceivingThread.ofCurrentThread());
  }

  @Override
  public void close() {
    known.values().forEach(ReceivingThread::close);
  }
}
