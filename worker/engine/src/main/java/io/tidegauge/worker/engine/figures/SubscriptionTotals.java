package io.tidegauge.worker.engine.figures;

import java.util.List;

/**
 * One subscription over the whole trial; {@code endToEnd} and {@code windowReceived} over the
 * measured window.
 *
 * @param recordEndToEnd of each record of a schedule
 * @param apart by worker on another host that sent the messages
 */
public record SubscriptionTotals(
    String name,
    long received,
    long unique,
    long backlog,
    long lost,
    long duplicated,
    long reordered,
    long corrupt,
    long corruptUnattributed,
    long foreign,
    long negativeLatency,
    byte[] endToEnd,
    long windowReceived,
    List<String> lostExamples,
    List<String> duplicatedExamples,
    List<String> reorderedExamples,
    List<String> corruptExamples,
    List<byte[]> recordEndToEnd,
    List<ApartLatency> apart,
    Foreign others) {}
