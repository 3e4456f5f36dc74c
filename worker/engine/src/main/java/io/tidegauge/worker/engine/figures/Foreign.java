package io.tidegauge.worker.engine.figures;

/**
 * What was read of messages that others made.
 *
 * @param firstReceivedNs first receipt in the measured window; 0 if there was none
 * @param lastReceivedNs last receipt likewise
 * @param verified messages of earlier trials, whose checksums were verified
 * @param receivedBytes value bytes of all messages of the whole trial
 */
public record Foreign(
    long firstReceivedNs, long lastReceivedNs, long verified, long receivedBytes) {}
