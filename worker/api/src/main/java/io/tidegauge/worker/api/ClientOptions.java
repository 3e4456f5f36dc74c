package io.tidegauge.worker.api;

import java.util.Map;

/**
 * The same client behaviour for every system; each driver maps it to its client's settings.
 *
 * @param batchBytesMax largest batch; 0 or 1 = no batching
 * @param batchDelayUsMax longest time a message waits for its batch to fill
 * @param compression "none", "lz4", "zstd", "snappy", "gzip"
 * @param inFlightMessagesMax messages sent and not yet acknowledged, for each producer; the engine
 *     enforces it, the client's own buffers must be large enough never to be what blocks
 * @param receiveQueueMessages messages a consumer may hold before the application takes them
 * @param connectionsPerBroker connections from one client to one broker, where the client lets one
 *     choose
 * @param acks "all" or "one"
 * @param messageBytes size of a message value, on average; for sizing the client's buffers
 * @param messageBytesMax size of the largest
 * @param producerOverrides the client's own settings; they win over everything above
 * @param consumerOverrides likewise for consumers
 * @param outcomeTimeoutMs a message without an outcome for so long is given up; 0 = when the client
 *     does by itself
 */
public record ClientOptions(
    int batchBytesMax,
    long batchDelayUsMax,
    String compression,
    int inFlightMessagesMax,
    int receiveQueueMessages,
    int connectionsPerBroker,
    String acks,
    int messageBytes,
    int messageBytesMax,
    Map<String, String> producerOverrides,
    Map<String, String> consumerOverrides,
    int outcomeTimeoutMs) {

  /** Of messages that are all of one size. */
  public ClientOptions(
      int batchBytesMax,
      long batchDelayUsMax,
      String compression,
      int inFlightMessagesMax,
      int receiveQueueMessages,
      int connectionsPerBroker,
      String acks,
      int messageBytes,
      Map<String, String> producerOverrides,
      Map<String, String> consumerOverrides,
      int outcomeTimeoutMs) {
    this(
        batchBytesMax,
        batchDelayUsMax,
        compression,
        inFlightMessagesMax,
        receiveQueueMessages,
        connectionsPerBroker,
        acks,
        messageBytes,
        messageBytes,
        producerOverrides,
        consumerOverrides,
        outcomeTimeoutMs);
  }

  /** The same options with bounds that fit the memory there is. */
  public ClientOptions withBounds(int inFlightMessages, int receiveQueue) {
    return new ClientOptions(
        batchBytesMax,
        batchDelayUsMax,
        compression,
        inFlightMessages,
        receiveQueue,
        connectionsPerBroker,
        acks,
        messageBytes,
        messageBytesMax,
        producerOverrides,
        consumerOverrides,
        outcomeTimeoutMs);
  }
}
