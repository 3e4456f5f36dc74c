package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

/**
 * Spreads new partitions over the brokers of a cluster that is ours. Pulsar itself gives every
 * bundle to some broker when it is first used, and evens the load out later, while it is measured.
 */
final class Placement {
  private final AdminRest rest;
  private final Connection connection;

  Placement(AdminRest rest, Connection connection) {
    this.rest = rest;
    this.connection = connection;
  }

  /** Fails until as many brokers are active as the connection says there must be. */
  void requireBrokers() throws DriverException {
    if (connection.brokers() > 0) {
      int active = rest.brokers().size();
      if (active < connection.brokers()) {
        throw new DriverException(
            "Pulsar has " + active + " of " + connection.brokers() + " brokers active");
      }
    }
  }

  /**
   * Decides which broker serves each of these partitions; none may be in use. Where other workers
   * create some of them, all decide the same, and each bundle is moved by the one that creates the
   * bundle's first partition.
   *
   * @param partitions by full name, in the same order in every worker, whether this one creates it
   */
  void spread(Map<String, Boolean> partitions) throws DriverException {
    if (connection.brokers() < 2) {
      return;
    }
    List<String> brokers = rest.brokers();
    Bundles bundles = Bundles.of(rest, connection.namespace());
    Map<String, String> owners = bundles.owners(brokers).orElseGet(HashMap::new);
    for (Map.Entry<String, String> move :
        moves(partitions, bundles::of, owners, brokers).entrySet()) {
      bundles.move(move.getKey(), move.getValue());
    }
  }

  /** Which bundles this worker gives to which broker. Pure. */
  static Map<String, String> moves(
      Map<String, Boolean> partitions,
      UnaryOperator<String> bundleOf,
      Map<String, String> owners,
      List<String> brokers) {
    Map<String, Integer> weights = new TreeMap<>();
    Map<String, Boolean> movedHere = new HashMap<>();
    partitions.forEach(
        (partition, mine) -> {
          weights.merge(bundleOf.apply(partition), 1, Integer::sum);
          movedHere.putIfAbsent(bundleOf.apply(partition), mine);
        });
    // Who serves what changes while other workers move bundles: it can't be what all go by.
    boolean alone = !partitions.containsValue(false);
    Map<String, String> moves = assign(weights, alone ? owners : Map.of(), brokers);
    moves
        .entrySet()
        .removeIf(
            move ->
                !movedHere.get(move.getKey()) || move.getValue().equals(owners.get(move.getKey())));
    return moves;
  }

  /**
   * A broker for each bundle, so that all have about as many partitions: the heaviest bundles
   * first, each to the broker that has least, and where several have, to the one that serves it
   * already. Pure.
   *
   * @param weights how many partitions each bundle has
   * @param owners which broker serves a bundle now
   */
  static Map<String, String> assign(
      Map<String, Integer> weights, Map<String, String> owners, List<String> brokers) {
    List<Map.Entry<String, Integer>> heaviest = new ArrayList<>(weights.entrySet());
    heaviest.sort(Map.Entry.<String, Integer>comparingByValue().reversed());
    Map<String, Integer> loads = new HashMap<>();
    Map<String, String> decided = new TreeMap<>();
    for (Map.Entry<String, Integer> bundle : heaviest) {
      String owner = owners.get(bundle.getKey());
      String broker =
          brokers.stream()
              .min(
                  Comparator.comparingInt((String b) -> loads.getOrDefault(b, 0))
                      .thenComparing(b -> b.equals(owner) ? 0 : 1))
              .orElseThrow();
      decided.put(bundle.getKey(), broker);
      loads.merge(broker, bundle.getValue(), Integer::sum);
    }
    return decided;
  }
}
