package io.tidegauge.worker.engine.check;

import io.tidegauge.worker.engine.figures.Recorder;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;

/** One subscription over all topics: what its consumers received, together. */
public final class Subscription {
  private final String name;
  private final SequenceSet[] received;
  private final List<ReceiveRecorder> recorders = new CopyOnWriteArrayList<>();
  private final Examples duplicated = new Examples();
  private final Examples reordered = new Examples();
  private final Examples corrupt = new Examples();
  private final LongAdder discardedMax = new LongAdder();
  private volatile boolean processingEnded;

  /**
   * @param producers producers of all topics
   * @param shared whether several consumers may receive the messages of one producer
   */
  public Subscription(String name, int producers, boolean shared) {
    this.name = name;
    this.received = new SequenceSet[producers];
    for (int i = 0; i < producers; i++) {
      received[i] = new SequenceSet(shared);
    }
  }

  public String name() {
    return name;
  }

  void add(ReceiveRecorder recorder) {
    recorders.add(recorder);
  }

  /** Sequences of this producer that any consumer received. */
  public SequenceSet received(int producer) {
    return received[producer];
  }

  public List<ReceiveRecorder> recorders() {
    return recorders;
  }

  public Examples duplicated() {
    return duplicated;
  }

  public Examples reordered() {
    return reordered;
  }

  /** Of those whose header says which they are. */
  public Examples corrupt() {
    return corrupt;
  }

  void addDiscarded(long messagesMax) {
    discardedMax.add(messagesMax);
  }

  /** How many messages can have been in what clients threw away. */
  public long discardedMax() {
    return discardedMax.sum();
  }

  /** From now on no consumer spends time on a message: they are to be closed. */
  public void endProcessing() {
    processingEnded = true;
  }

  boolean isProcessingEnded() {
    return processingEnded;
  }

  /** Sum of a counter over the consumers. */
  public long sum(int counter) {
    return Recorder.sum(recorders, counter);
  }

  /** Sum of {@link ReceiveRecorder#WINDOW_RECEIVED} over the consumers that know the window. */
  public long windowReceived(int epoch) {
    return Recorder.sum(recorders, ReceiveRecorder.WINDOW_RECEIVED, epoch);
  }

  /** Frees the memory of what is complete. */
  public void collapse() {
    for (SequenceSet set : received) {
      set.collapse();
    }
  }
}
