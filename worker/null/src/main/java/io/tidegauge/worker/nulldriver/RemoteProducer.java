package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.Threads;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Publishes to a {@link NullServer}, with the faults that were asked for. A message is acknowledged
 * once the server has stored all that was made of it.
 */
final class RemoteProducer implements MessageProducer {
  /** What may wait to be written before a send has to. */
  private static final int BYTES_MAX = 1 << 20;

  private record Waiting(InFlight message, long records) {}

  private final Wire wire;
  private final Delivery delivery;
  private final Object gate = new Object();

  /** Guarded by {@code gate}, like what follows. */
  private ByteArrayOutputStream unwritten = new ByteArrayOutputStream();

  private ByteArrayOutputStream spare = new ByteArrayOutputStream();
  private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
  private long records;
  private long stored;
  private IOException broken;
  private boolean closing;

  RemoteProducer(InetSocketAddress address, ProducerSpec spec, NullSettings settings)
      throws DriverException {
    this.wire = Wire.ask(address, Wire.PRODUCE, out -> out.writeUTF(spec.topic()));
    this.delivery =
        new Delivery(settings, null, spec.partitions()) {
          @Override
          void put(int partition, byte[] value, int flipAt) {
            append(partition, value, flipAt);
          }
        };
    Threads.start("null-write-" + spec.clientId(), this::write);
    Threads.start("null-acks-" + spec.clientId(), this::readAnswers);
  }

  @Override
  public void send(InFlight message) {
    if (!delivery.deliver(message.value(), message.key())) {
      message.failed(new IllegalStateException("null driver: told to fail"));
      return;
    }
    IOException lost;
    synchronized (gate) {
      lost = broken;
      if (lost == null && stored < records) {
        waiting.add(new Waiting(message, records));
        return;
      }
    }
    if (lost == null) {
      message.acked();
    } else {
      message.failed(lost);
    }
  }

  private void append(int partition, byte[] value, int flipAt) {
    synchronized (gate) {
      try {
        while (unwritten.size() > BYTES_MAX && broken == null) {
          gate.wait();
        }
        DataOutputStream out = new DataOutputStream(unwritten);
        out.writeInt(value.length);
        out.writeInt(partition);
        if (flipAt < 0) {
          out.write(value);
        } else {
          byte[] copy = value.clone();
          copy[flipAt] ^= 1;
          out.write(copy);
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
      records++;
      gate.notifyAll();
    }
  }

  private void write() {
    try {
      while (true) {
        ByteArrayOutputStream batch;
        synchronized (gate) {
          while (unwritten.size() == 0 && !closing) {
            gate.wait();
          }
          if (unwritten.size() == 0) {
            return;
          }
          batch = unwritten;
          unwritten = spare;
          spare = batch;
          gate.notifyAll();
        }
        batch.writeTo(wire.out);
        wire.out.flush();
        synchronized (gate) {
          batch.reset();
        }
      }
    } catch (IOException e) {
      lose(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void readAnswers() {
    try {
      while (true) {
        long known = wire.in.readLong();
        List<InFlight> acked = new ArrayList<>();
        synchronized (gate) {
          stored = known;
          while (!waiting.isEmpty() && waiting.peek().records() <= known) {
            acked.add(waiting.poll().message());
          }
        }
        long now = System.nanoTime();
        acked.forEach(message -> message.acked(now));
      }
    } catch (IOException e) {
      lose(e);
    }
  }

  private void lose(IOException why) {
    List<Waiting> given;
    synchronized (gate) {
      broken = why;
      given = List.copyOf(waiting);
      waiting.clear();
      gate.notifyAll();
    }
    IOException cause = new IOException("null driver: the connection to its server is lost", why);
    given.forEach(one -> one.message().failed(cause));
  }

  /** Called once nothing is sent any more. */
  @Override
  public void flush() {
    delivery.deliverHeld();
  }

  @Override
  public void close() {
    flush();
    synchronized (gate) {
      closing = true;
      gate.notifyAll();
    }
    wire.close();
  }
}
