package io.tidegauge.worker.engine.figures;

/**
 * End to end over the measured window of messages that one worker on another host sent, encoded.
 *
 * @param before by how much they were received before they were intended, as far as its clock is
 *     known
 */
public record ApartLatency(int worker, byte[] endToEnd, byte[] before) {}
