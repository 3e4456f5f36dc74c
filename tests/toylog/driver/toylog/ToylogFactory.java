package toylog;

import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.DriverFactory;
import io.tidegauge.worker.api.EffectiveSetting;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageConsumer;
import io.tidegauge.worker.api.MessageProducer;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.api.TopicSpec;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/** The driver of Toylog. Its connection has the server's {@code port}. */
public final class ToylogFactory implements DriverFactory {
  @Override
  public String name() {
    return "toylog";
  }

  @Override
  public String clientVersion() {
    return "1.0";
  }

  @Override
  public Driver open(Map<String, String> connection) {
    return new ToylogDriver(Integer.parseInt(connection.get("port")));
  }
}

/** Each call has a connection of its own. */
final class ToylogDriver implements Driver {
  private final int port;

  ToylogDriver(int port) {
    this.port = port;
  }

  /** A connection with its first line sent. */
  private Socket open(String request) throws DriverException {
    try {
      Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
      socket.setTcpNoDelay(true);
      socket.getOutputStream().write((request + "\n").getBytes());
      return socket;
    } catch (IOException e) {
      throw new DriverException("could not reach Toylog: " + e.getMessage(), e);
    }
  }

  private String ask(String request) throws DriverException {
    try (Socket socket = open(request)) {
      return new String(socket.getInputStream().readAllBytes());
    } catch (IOException e) {
      throw new DriverException("Toylog did not answer: " + e.getMessage(), e);
    }
  }

  @Override
  public void createTopics(List<TopicSpec> topics) throws DriverException {
    for (TopicSpec topic : topics) {
      if (topic.partitions() != 1) {
        throw new DriverException("a topic of Toylog has one partition");
      }
      ask("CREATE " + topic.name());
    }
  }

  @Override
  public void deleteTopics(List<String> names) throws DriverException {
    for (String name : names) {
      ask("DELETE " + name);
    }
  }

  @Override
  public List<EffectiveSetting> describe(List<String> topics) throws DriverException {
    List<EffectiveSetting> found = new ArrayList<>();
    ask("SETTINGS")
        .lines()
        .map(line -> line.split("=", 2))
        .forEach(pair -> found.add(new EffectiveSetting("server 1", pair[0], pair[1], null)));
    return found;
  }

  @Override
  public MessageProducer createProducer(ProducerSpec spec) throws DriverException {
    try {
      return new ToylogProducer(open("PRODUCE " + spec.topic()));
    } catch (IOException e) {
      throw new DriverException("could not produce: " + e.getMessage(), e);
    }
  }

  @Override
  public MessageConsumer createConsumer(ConsumerSpec spec, MessageSink sink)
      throws DriverException {
    return new ToylogConsumer(open("CONSUME " + spec.topic()), spec, sink);
  }

  @Override
  public List<EffectiveSetting> clientSettings() {
    return List.of();
  }

  @Override
  public boolean retainsValue() {
    return false;
  }

  @Override
  public void close() {}
}

/** Acknowledgements come in the order of the messages, one byte each. */
final class ToylogProducer implements MessageProducer {
  private final Socket socket;
  private final DataOutputStream out;
  private final Queue<InFlight> waiting = new ConcurrentLinkedQueue<>();

  ToylogProducer(Socket socket) throws IOException {
    this.socket = socket;
    this.out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), 1 << 16));
    Thread acks = new Thread(this::takeAcks, "toylog-acks");
    acks.setDaemon(true);
    acks.start();
  }

  private void takeAcks() {
    byte[] acks = new byte[1 << 12];
    try {
      InputStream in = socket.getInputStream();
      for (int count = in.read(acks); count >= 0; count = in.read(acks)) {
        for (int i = 0; i < count; i++) {
          waiting.remove().acked();
        }
      }
      failAll(new IOException("Toylog closed the connection"));
    } catch (IOException e) {
      failAll(e);
    }
  }

  private void failAll(IOException cause) {
    for (InFlight message = waiting.poll(); message != null; message = waiting.poll()) {
      message.failed(cause);
    }
  }

  @Override
  public void send(InFlight message) {
    waiting.add(message);
    try {
      out.writeInt(message.value().length);
      out.write(message.value());
      out.flush();
    } catch (IOException e) {
      failAll(e);
    }
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException e) {
      // It is of no use any more either way.
    }
  }
}

/** Reads frames and hands them over, from a thread of its own. */
final class ToylogConsumer implements MessageConsumer {
  private static final long PAUSE_NS = 1_000_000;

  private final Socket socket;
  private final int topic;
  private final MessageSink sink;
  private volatile boolean paused;
  private volatile boolean closed;

  ToylogConsumer(Socket socket, ConsumerSpec spec, MessageSink sink) {
    this.socket = socket;
    this.topic = spec.topicIndex();
    this.sink = sink;
    this.paused = spec.startPaused();
    Thread reader = new Thread(this::read, "toylog-" + spec.clientId());
    reader.setDaemon(true);
    reader.start();
  }

  private void read() {
    byte[] value = new byte[1 << 20];
    try (DataInputStream in =
        new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 18))) {
      while (!closed) {
        int length = in.readInt();
        in.readFully(value, 0, length);
        while (paused && !closed) {
          LockSupport.parkNanos(PAUSE_NS);
        }
        sink.received(topic, 0, value, 0, length, System.nanoTime());
      }
    } catch (IOException e) {
      if (!closed) {
        sink.error(e);
      }
    }
  }

  @Override
  public void pause() {
    paused = true;
  }

  @Override
  public void resume() {
    paused = false;
  }

  @Override
  public void close() {
    closed = true;
    try {
      socket.close();
    } catch (IOException e) {
      // It is of no use any more either way.
    }
  }
}
