package io.tidegauge.worker.engine.figures;

/** One record of a schedule: its messages by intended time, {@code ackedWithin} by arrival. */
public record RecordFigures(
    long intended,
    long acked,
    long failed,
    long ackedWithin,
    byte[] response,
    byte[] service,
    byte[] delay) {}
