package io.tidegauge.worker.api;

/**
 * A consumer of the official client, delivering to its {@link MessageSink} from a thread of its
 * own.
 */
public interface MessageConsumer extends AutoCloseable {
  /**
   * Stops fetching without leaving the subscription. Messages already fetched may still be
   * delivered.
   */
  void pause();

  void resume();

  @Override
  void close();
}
