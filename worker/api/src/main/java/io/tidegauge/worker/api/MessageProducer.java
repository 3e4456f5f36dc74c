package io.tidegauge.worker.api;

/** A producer of the official client. {@link #send} is called from one thread only. */
public interface MessageProducer extends AutoCloseable {
  /**
   * Hands a message to the client. Its outcome is reported to {@link InFlight#acked} or {@link
   * InFlight#failed}, exactly once, from any thread, possibly before this method returns. May block
   * when the client does; the time counts as delay.
   */
  void send(InFlight message);

  /**
   * Asks the client to send what it holds back for batching; does not wait for acknowledgements.
   */
  void flush();

  @Override
  void close();
}
