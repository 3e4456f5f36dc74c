package io.tidegauge.worker.api;

/**
 * Where a client stands in a trial whose clients are in several workers.
 *
 * @param client its number among all clients of the trial, from 0
 * @param member its number among the consumers of its subscription on its topic, or among the
 *     topic's producers
 * @param members how many these are, in all workers
 */
public record Place(int client, int member, int members) {}
