package io.tidegauge.worker.api;

/**
 * How far a subscription has come in a partition, as the servers say.
 *
 * @param subscription its place among the subscriptions asked for
 * @param position larger is further, within the partition
 */
public record CommittedPosition(int subscription, int partition, long position) {}
