package io.tidegauge.worker.engine.figures;

/** One second of one subscription; {@code endToEnd} is an encoded histogram. */
public record SubscriptionSecond(
    String name,
    long received,
    long unique,
    long receivedBytes,
    long backlog,
    long duplicated,
    long reordered,
    long corrupt,
    byte[] endToEnd) {}
