package io.tidegauge.worker.nulldriver;

import io.tidegauge.worker.api.Threads;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The null system as a process of its own: topics in memory, for several workers whose null driver
 * has the setting {@code address}. It does nothing wrong: faults are made by the drivers of
 * producers. Each message is handed over once, to one consumer of each subscription that exists
 * when it comes, unless it {@linkplain Ejections ejects} that consumer; a message without a
 * subscription is gone.
 */
public final class NullServer implements AutoCloseable {
  /** An answer with how much is stored comes after so many records at the latest. */
  private static final int RECORDS_PER_ANSWER = 256;

  private static final int RECORD_BYTES_MAX = 32 << 20;

  private final ServerSocket listening;
  private final Map<String, ServerTopic> topics = new ConcurrentHashMap<>();

  /** Serves on a free port. */
  public NullServer(InetAddress address) throws IOException {
    listening = new ServerSocket(0, 1_024, address);
    Threads.start("null-server", this::accept);
  }

  /** Serves until the process is ended; writes its port to a file. */
  public static void main(String[] args) throws InterruptedException {
    if (args.length != 2 || !args[0].equals("--port-file")) {
      System.err.println("usage: java -cp ... " + NullServer.class.getName() + " --port-file PATH");
      Runtime.getRuntime().halt(2);
    }
    try (NullServer server = new NullServer(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}))) {
      Path file = Path.of(args[1]);
      Path next = file.resolveSibling(file.getFileName() + ".new");
      Files.writeString(next, server.port() + "\n", StandardCharsets.US_ASCII);
      Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
      Thread.currentThread().join();
    } catch (IOException e) {
      System.err.println("null server: " + e.getMessage());
      Runtime.getRuntime().halt(2);
    }
  }

  public int port() {
    return listening.getLocalPort();
  }

  private void accept() {
    while (!listening.isClosed()) {
      try {
        Socket socket = listening.accept();
        if (listening.isClosed()) {
          // It came while the server was closed: nobody is to find one that still answers.
          socket.close();
          return;
        }
        Threads.start("null-client", () -> serve(socket));
      } catch (IOException e) {
        // Closed, or a client gave up while it connected.
      }
    }
  }

  private void serve(Socket socket) {
    try (Wire wire = new Wire(socket)) {
      int wanted = wire.in.readByte();
      String name = wire.in.readUTF();
      switch (wanted) {
        case Wire.CREATE -> create(wire, name);
        case Wire.DELETE -> delete(wire, name);
        case Wire.PRODUCE -> produce(wire, topics.get(name), name);
        case Wire.CONSUME -> consume(wire, topics.get(name), name);
        default -> answer(wire, "a request that the null server does not know: " + wanted);
      }
    } catch (IOException e) {
      // The client has gone.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void answer(Wire wire, String refusal) throws IOException {
    wire.out.writeUTF(refusal);
    wire.out.flush();
  }

  private static String isMissing(String topic) {
    return "there is no topic " + topic;
  }

  private void create(Wire wire, String name) throws IOException {
    int partitions = wire.in.readInt();
    Ejections ejections = new Ejections(wire.in.readInt(), wire.in.readInt(), wire.in.readInt());
    topics.computeIfAbsent(name, n -> new ServerTopic(partitions, ejections));
    answer(wire, "");
  }

  private void delete(Wire wire, String name) throws IOException {
    ServerTopic topic = topics.remove(name);
    if (topic != null) {
      topic.delete();
    }
    answer(wire, "");
  }

  private static void produce(Wire wire, ServerTopic topic, String name)
      throws IOException, InterruptedException {
    if (topic == null) {
      answer(wire, isMissing(name));
      return;
    }
    answer(wire, "");
    long stored = 0;
    long answered = 0;
    while (true) {
      int length = wire.in.readInt();
      int partition = wire.in.readInt();
      if (length < 0 || length > RECORD_BYTES_MAX) {
        return;
      }
      byte[] value = new byte[length];
      wire.in.readFully(value);
      topic.store(partition, value);
      stored++;
      if (wire.in.available() == 0 || stored - answered >= RECORDS_PER_ANSWER) {
        wire.out.writeLong(stored);
        wire.out.flush();
        answered = stored;
      }
    }
  }

  private static void consume(Wire wire, ServerTopic topic, String name)
      throws IOException, InterruptedException {
    String subscription = wire.in.readUTF();
    int number = wire.in.readInt();
    if (topic == null) {
      answer(wire, isMissing(name));
      return;
    }
    ServerSubscription from = topic.subscription(subscription);
    ServerSubscription.Member member = from.join(number);
    try {
      answer(wire, "");
      Threads.start("null-client-end", () -> awaitEnd(wire, from, member));
      for (ServerSubscription.Record r = from.next(member); r != null; ) {
        wire.out.writeInt(r.value().length);
        wire.out.writeInt(r.partition());
        wire.out.write(r.value());
        r = from.poll(member);
        if (r == null) {
          wire.out.flush();
          r = from.next(member);
        }
      }
      wire.out.writeInt(member.isEjected() ? Wire.EJECTED : Wire.END);
      wire.out.flush();
    } finally {
      from.leave(member);
    }
  }

  /** A consumer leaves by sending a byte, or by breaking the connection. */
  private static void awaitEnd(
      Wire wire, ServerSubscription from, ServerSubscription.Member member) {
    try {
      wire.in.read();
    } catch (IOException e) {
      // It has gone.
    }
    from.leave(member);
  }

  @Override
  public void close() throws IOException {
    listening.close();
    topics.values().forEach(ServerTopic::delete);
  }
}
