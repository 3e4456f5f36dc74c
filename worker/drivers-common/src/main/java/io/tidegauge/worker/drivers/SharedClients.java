package io.tidegauge.worker.drivers;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The clients of a system that producers use, or consumers: each has one of its own, as the
 * applications have that they stand for. Where there are more than {@link #MOST}, they share so
 * many by turns, since a connection and threads for each would be what is measured.
 *
 * @param <C> a client
 */
public final class SharedClients<C> {
  /** Clients at most, of all producers or of all consumers of a worker. */
  public static final int MOST = 1_000;

  /** Makes a client. */
  public interface Maker<C> {
    C make() throws DriverException;
  }

  /** One user's part in a client. */
  public static final class Hold<C> {
    private final Entry<C> entry;
    private boolean released;

    private Hold(Entry<C> entry) {
      this.entry = entry;
    }

    public C client() {
      return entry.client;
    }

    /** Whether nobody else uses the client now. */
    public boolean isAlone() {
      synchronized (entry) {
        return !released && entry.users == 1;
      }
    }

    /** Gives up the part. True for the last user, who must close the client; false ever after. */
    public boolean release() {
      synchronized (entry) {
        if (released) {
          return false;
        }
        released = true;
        entry.users--;
        return entry.users == 0;
      }
    }
  }

  private static final class Entry<C> {
    private final C client;
    private int users = 1;

    Entry(C client) {
      this.client = client;
    }

    synchronized boolean join() {
      if (users == 0) {
        return false;
      }
      users++;
      return true;
    }
  }

  private static final class Group<C> {
    private final List<Entry<C>> entries = new ArrayList<>();
    private int taken;
  }

  private final Map<String, Group<C>> groups = new HashMap<>();
  private int users;
  private int groupCount = 1;

  /**
   * Says who will come.
   *
   * @param usersInAll users, of all groups
   * @param groupsInAll groups that share no client with each other
   */
  public void expect(int usersInAll, int groupsInAll) {
    users = usersInAll;
    groupCount = Math.max(1, groupsInAll);
  }

  /** Clients of each group. */
  private int most() {
    return Math.max(1, MOST / groupCount);
  }

  /** Whether clients have several users. */
  public boolean areShared() {
    return users > MOST;
  }

  /** How many users a client has at most. */
  public int usersEach() {
    int clients = most() * groupCount;
    return areShared() ? (users + clients - 1) / clients : 1;
  }

  /** The client of the next user of a group: a new one, or that of others. */
  public Hold<C> take(String group, Maker<C> maker) throws DriverException {
    if (!areShared()) {
      return new Hold<>(new Entry<>(maker.make()));
    }
    Group<C> known = groups.computeIfAbsent(group, name -> new Group<>());
    int place = known.taken++ % most();
    if (place < known.entries.size()) {
      Entry<C> entry = known.entries.get(place);
      if (!entry.join()) {
        // Those of an earlier trial are closed.
        entry = new Entry<>(maker.make());
        known.entries.set(place, entry);
      }
      return new Hold<>(entry);
    }
    Entry<C> made = new Entry<>(maker.make());
    known.entries.add(made);
    return new Hold<>(made);
  }

  /** What is to be known of clients that have several users; empty where each has one. */
  public Optional<EffectiveSetting> disclosed(String scope) {
    return areShared()
        ? Optional.of(
            new EffectiveSetting(
                scope,
                "clients",
                most() * groupCount + " shared by " + users,
                /* isDefault= */ null))
        : Optional.empty();
  }
}
