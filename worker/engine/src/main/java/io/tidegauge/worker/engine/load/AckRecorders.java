package io.tidegauge.worker.engine.load;

import io.tidegauge.worker.engine.figures.Recorder;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;

/** The recorder of each thread that reports outcomes, found without a lock. */
public final class AckRecorders {
  private final ConcurrentHashMap<Thread, AckRecorder> byThread = new ConcurrentHashMap<>();

  AckRecorder ofCurrentThread() {
    Thread thread = Thread.currentThread();
    AckRecorder recorder = byThread.get(thread);
    if (recorder == null) {
      recorder = new AckRecorder();
      byThread.put(thread, recorder);
    }
    return recorder;
  }

  public Collection<AckRecorder> all() {
    return byThread.values();
  }

  /** Sum of a counter over all threads. */
  public long sum(int counter) {
    return Recorder.sum(all(), counter);
  }

  /** Sum of a counter of the window over the threads that know the window. */
  public long sum(int counter, int epoch) {
    return Recorder.sum(all(), counter, epoch);
  }
}
