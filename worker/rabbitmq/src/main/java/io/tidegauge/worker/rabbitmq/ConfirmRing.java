package io.tidegauge.worker.rabbitmq;

import io.tidegauge.worker.api.InFlight;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The messages of one channel that wait for their publisher confirm, by sequence number. RabbitMQ
 * numbers what is published on a channel from 1 on and confirms one number, or all up to a number,
 * in any order.
 *
 * <p>One thread adds; any thread settles. Nothing is allocated for a message. The ring grows only
 * when a message waits for its confirm while more are sent and confirmed than the ring has places
 * (queues confirm independently of each other).
 */
final class ConfirmRing {
  private final Object settling = new Object();
  private volatile AtomicReferenceArray<InFlight> places;

  /** The next number to be given; written by the adding thread only, after the place is filled. */
  private volatile long next = 1;

  /** Every lower number is settled. Guarded by {@code settling}. */
  private long lowest = 1;

  /**
   * @param inFlightMessagesMax messages that may wait at a time
   */
  ConfirmRing(int inFlightMessagesMax) {
    int wanted = Math.max(16, 2 * inFlightMessagesMax - 1);
    places = new AtomicReferenceArray<>(Integer.highestOneBit(wanted) * 2);
  }

  /** Adds the message that is published next and returns its number. */
  long add(InFlight message) {
    long number = next;
    AtomicReferenceArray<InFlight> current = places;
    if (current.get(place(number, current)) != null) {
      current = grownFor(number);
    }
    current.set(place(number, current), message);
    next = number + 1;
    return number;
  }

  /**
   * Takes back a message that was not published after all. False if it has been settled meanwhile.
   */
  boolean remove(long number) {
    synchronized (settling) {
      boolean there = take(number) != null;
      raiseLowest();
      return there;
    }
  }

  /**
   * The broker has taken responsibility for a message, or for all that are not settled up to it.
   */
  void acked(long number, boolean multiple) {
    synchronized (settling) {
      long last = Math.min(number, next - 1);
      for (long one = multiple ? lowest : number; one <= last; one++) {
        InFlight message = take(one);
        if (message != null) {
          message.acked();
        }
      }
      raiseLowest();
    }
  }

  /** The broker refused a message, or all that are not settled up to it. */
  void failed(long number, boolean multiple, Throwable cause) {
    synchronized (settling) {
      long last = Math.min(number, next - 1);
      for (long one = multiple ? lowest : number; one <= last; one++) {
        InFlight message = take(one);
        if (message != null) {
          message.failed(cause);
        }
      }
      raiseLowest();
    }
  }

  /** The number of the message added last; 0 if there is none. */
  long newest() {
    return next - 1;
  }

  /** The channel is gone: no confirm will come any more. */
  void failAll(Throwable cause) {
    failed(next - 1, true, cause);
  }

  int capacity() {
    return places.length();
  }

  private InFlight take(long number) {
    if (number < lowest || number >= next) {
      return null;
    }
    AtomicReferenceArray<InFlight> current = places;
    return current.getAndSet(place(number, current), null);
  }

  private void raiseLowest() {
    AtomicReferenceArray<InFlight> current = places;
    long until = next;
    while (lowest < until && current.get(place(lowest, current)) == null) {
      lowest++;
    }
  }

  /** By the adding thread. Whatever waits is less than one ring length behind. */
  private AtomicReferenceArray<InFlight> grownFor(long number) {
    synchronized (settling) {
      AtomicReferenceArray<InFlight> old = places;
      AtomicReferenceArray<InFlight> larger = old;
      while (number - lowest >= larger.length()) {
        larger = new AtomicReferenceArray<>(2 * larger.length());
      }
      if (larger != old) {
        for (long one = lowest; one < number; one++) {
          larger.set(place(one, larger), old.get(place(one, old)));
        }
        places = larger;
      }
      return larger;
    }
  }

  private static int place(long number, AtomicReferenceArray<InFlight> of) {
    return (int) (number & (of.length() - 1));
  }
}
