package io.tidegauge.worker.engine.figures;

import java.util.List;

/**
 * The measured window, by intended time; {@code ackedWithin} counts acknowledgements by when they
 * arrived.
 */
public record WindowFigures(
    long fromMonoNs,
    long untilMonoNs,
    long intended,
    long acked,
    long failed,
    long ackedBytes,
    byte[] response,
    byte[] service,
    byte[] delay,
    byte[] ownLag,
    long ownLagOverTolerance,
    long blockedNs,
    long ackedWithin,
    long workerCpuNs,
    long gcPauseNs,
    long cpuWaitNs,
    List<RecordFigures> records) {}
