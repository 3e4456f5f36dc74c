package io.tidegauge.worker.kafka;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The groups that a driver's consumers have joined, by the topic that they read. */
final class GroupsOfTopics {
  /** Names of groups, apart by kind, since each kind has its own way to be deleted. */
  static final class ByKind {
    final Set<String> ordinary = new HashSet<>();
    final Set<String> share = new HashSet<>();

    void add(String group, boolean isShare) {
      (isShare ? share : ordinary).add(group);
    }
  }

  private final Map<String, ByKind> groupsByTopic = new HashMap<>();
  private final Map<String, Integer> membersByGroup = new HashMap<>();

  /** Notes that a consumer joins. Returns how many members the group has with it. */
  int join(String group, boolean isShare, String topic) {
    groupsByTopic.computeIfAbsent(topic, name -> new ByKind()).add(group, isShare);
    return membersByGroup.merge(group, 1, Integer::sum);
  }

  boolean hasGroupOf(String topic) {
    return groupsByTopic.containsKey(topic);
  }

  /** Returns the groups of all these topics, in a collection of their own. */
  ByKind groupsOf(Collection<String> topics) {
    ByKind all = new ByKind();
    for (String topic : topics) {
      ByKind groups = groupsByTopic.getOrDefault(topic, new ByKind());
      all.ordinary.addAll(groups.ordinary);
      all.share.addAll(groups.share);
    }
    return all;
  }

  /** Forgets topics whose groups have been deleted. */
  void forget(Collection<String> topics, ByKind deleted) {
    groupsByTopic.keySet().removeAll(topics);
    membersByGroup.keySet().removeAll(deleted.ordinary);
    membersByGroup.keySet().removeAll(deleted.share);
  }
}
