package io.tidegauge.worker.nulldriver;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What consumers of a subscription have yet to receive, by partition. Each partition is one
 * consumer's at a time; when one joins or leaves, partitions are shared out anew, and what has not
 * been handed over goes to the new owner; what an ejected one has not acknowledged, too.
 */
final class ServerSubscription {
  /** What may wait before those who publish have to. */
  private static final long BYTES_MAX = 64L << 20;

  /** A message in its partition. */
  record Record(int partition, byte[] value) {}

  /** A consumer, by its number among those of the subscription. */
  static final class Member {
    private final int number;
    private final List<Integer> partitions = new ArrayList<>();

    /** What would be delivered again if it were ejected; of its own partitions, the newest last. */
    private final ArrayDeque<Record> unacknowledged = new ArrayDeque<>();

    private int turn;
    private boolean left;
    private volatile boolean ejected;

    private Member(int number) {
      this.number = number;
    }

    boolean isEjected() {
      return ejected;
    }
  }

  private final List<ArrayDeque<byte[]>> queues = new ArrayList<>();
  private final List<Member> members = new ArrayList<>();
  private final Ejections ejections;
  private int membersMost;
  private int ejected;
  private long handedOver;
  private long bytes;
  private boolean deleted;

  ServerSubscription(int partitions, Ejections ejections) {
    this.ejections = ejections;
    for (int p = 0; p < partitions; p++) {
      queues.add(new ArrayDeque<>());
    }
  }

  /** Adds a consumer; a negative number puts it behind the others. */
  synchronized Member join(int number) {
    int last = members.stream().mapToInt(member -> member.number).max().orElse(-1);
    Member member = new Member(number < 0 ? last + 1 : number);
    members.add(member);
    members.sort(Comparator.comparingInt(m -> m.number));
    membersMost = Math.max(membersMost, members.size());
    handedOver = 0;
    share();
    return member;
  }

  /** The consumer is handed nothing more. */
  synchronized void leave(Member member) {
    member.left = true;
    members.remove(member);
    share();
  }

  /** As in one process: partitions go round the consumers in the order of their numbers. */
  private void share() {
    members.forEach(member -> member.partitions.clear());
    for (int p = 0; p < queues.size() && !members.isEmpty(); p++) {
      members.get(p % members.size()).partitions.add(p);
    }
    // Whoever has a partition now has gone on from there.
    members.forEach(
        member -> member.unacknowledged.removeIf(r -> !member.partitions.contains(r.partition)));
    notifyAll();
  }

  /** Notes what a consumer is handed, and ejects it if its turn has come. */
  private void handOver(Member member, Record record) {
    if (ejected == ejections.times()) {
      return;
    }
    handedOver++;
    member.unacknowledged.add(record);
    if (member.unacknowledged.size() > ejections.unacknowledged()) {
      member.unacknowledged.remove();
    }
    if (handedOver >= ejections.every()
        && members.size() == membersMost
        && members.get(ejected % members.size()) == member
        && member.unacknowledged.size() == ejections.unacknowledged()) {
      ejected++;
      member.ejected = true;
      while (!member.unacknowledged.isEmpty()) {
        Record again = member.unacknowledged.removeLast();
        queues.get(again.partition).addFirst(again.value);
        bytes += again.value.length;
      }
      leave(member);
    }
  }

  synchronized void delete() {
    deleted = true;
    notifyAll();
  }

  synchronized void put(int partition, byte[] value) throws InterruptedException {
    while (bytes > BYTES_MAX && !deleted) {
      wait();
    }
    queues.get(partition).add(value);
    bytes += value.length;
    notifyAll();
  }

  /** Waits for the consumer's next message; null once it has left or the topic is deleted. */
  synchronized Record next(Member member) throws InterruptedException {
    while (true) {
      Record found = poll(member);
      if (found != null || member.left || deleted) {
        return found;
      }
      wait();
    }
  }

  /** The consumer's next message; null if there is none now, or it has left. */
  synchronized Record poll(Member member) {
    for (int i = 0; i < member.partitions.size() && !member.left; i++) {
      member.turn = (member.turn + 1) % member.partitions.size();
      int partition = member.partitions.get(member.turn);
      byte[] value = queues.get(partition).poll();
      if (value != null) {
        bytes -= value.length;
        if (bytes <= BYTES_MAX && bytes + value.length > BYTES_MAX) {
          notifyAll();
        }
        Record record = new Record(partition, value);
        handOver(member, record);
        return record;
      }
    }
    return null;
  }
}
