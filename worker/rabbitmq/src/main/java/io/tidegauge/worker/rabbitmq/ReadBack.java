package io.tidegauge.worker.rabbitmq;

import com.rabbitmq.client.Address;
import com.rabbitmq.stream.Consumer;
import com.rabbitmq.stream.Environment;
import com.rabbitmq.stream.NoOffsetException;
import io.tidegauge.worker.api.CommittedPosition;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.PartitionRead;
import io.tidegauge.worker.api.ReadBackSink;
import io.tidegauge.worker.api.ReadBackSpec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.LongAdder;

/** Reads topics back, and the positions that readers of streams have stored. */
final class ReadBack {
  private static final int CLOSE_MS_MAX = 5_000;

  private final Connection connection;
  private final StreamClients streams;

  ReadBack(Connection connection, StreamClients streams) {
    this.connection = connection;
    this.streams = streams;
  }

  List<PartitionRead> queues(ReadBackSpec spec, Topic topic, ReadBackSink sink)
      throws DriverException, InterruptedException {
    List<PartitionRead> all = new ArrayList<>();
    com.rabbitmq.client.Connection open;
    try {
      open = connection.factory().newConnection(connection.addressesFrom(0), "tg-read-back");
    } catch (IOException | TimeoutException e) {
      throw connection.unreachable(e);
    }
    try {
      for (int partition = 0; partition < spec.partitions(); partition++) {
        String queue =
            spec.first()
                ? topic.queue(partition)
                : Topology.queue(topic.name, partition, spec.subscription());
        all.add(
            spec.gone().contains(partition)
                ? spec.unread(partition, "")
                : new WholeQueue(spec, partition, queue, sink).read(open));
      }
    } catch (IOException | TimeoutException e) {
      throw Failures.describe("read back " + spec.topic(), e);
    } finally {
      open.abort(CLOSE_MS_MAX);
    }
    return all;
  }

  List<PartitionRead> streams(ReadBackSpec spec, Topic topic, ReadBackSink sink)
      throws DriverException, InterruptedException {
    List<PartitionRead> all = new ArrayList<>();
    LongAdder discarded = new LongAdder();
    Environment environment = streams.environment("tg-read-back", discarded::add);
    try {
      for (int partition = 0; partition < spec.partitions(); partition++) {
        String stream = topic.queue(partition);
        all.add(
            spec.gone().contains(partition)
                ? spec.unread(partition, "")
                : new WholeStream(spec, partition, stream, sink).read(streams, environment));
        long messages = discarded.sumThenReset();
        if (messages > 0) {
          String why =
              "RabbitMQ's stream client discarded " + messages + " messages that came damaged";
          all.set(partition, all.get(partition).doubted(why));
        }
      }
    } finally {
      StreamProducer.closeQuietly(environment);
    }
    return all;
  }

  /** What one node has of streams: whoever connects to it by AMQP 0-9-1 is given its own copy. */
  List<PartitionRead> replica(ReadBackSpec spec, int number, ReadBackSink sink)
      throws DriverException, InterruptedException {
    List<Address> nodes = connection.addressesFrom(0);
    if (number > nodes.size()) {
      throw new IllegalArgumentException(
          "there is no node " + number + " among the " + nodes.size() + " of uri");
    }
    Address node = nodes.get(number - 1);
    com.rabbitmq.client.Connection open;
    try {
      open = connection.factory().newConnection(List.of(node), "tg-read-replica");
    } catch (IOException | TimeoutException e) {
      return spec.unread(Failures.describe("be reached at " + node, e).getMessage());
    }
    try {
      List<PartitionRead> all = new ArrayList<>();
      for (int partition = 0; partition < spec.partitions(); partition++) {
        all.add(new StreamReplica(spec, partition, sink).read(open));
      }
      return all;
    } finally {
      open.abort(CLOSE_MS_MAX);
    }
  }

  /** Queues keep no positions: what was acknowledged is gone. */
  List<CommittedPosition> positions(Topic topic, List<String> subscriptions)
      throws DriverException {
    List<CommittedPosition> all = new ArrayList<>();
    Environment environment = streams.environment("tg-positions");
    try {
      for (int s = 0; s < subscriptions.size(); s++) {
        for (int partition = 0; partition < topic.partitions; partition++) {
          String stream = topic.queue(partition);
          long stored = stored(environment, stream, subscriptions.get(s));
          if (stored >= 0) {
            all.add(new CommittedPosition(s, partition, stored));
          }
        }
      }
    } finally {
      StreamProducer.closeQuietly(environment);
    }
    return all;
  }

  /** What was stored under a name; -1 if nothing was. The client asks through a consumer only. */
  private long stored(Environment environment, String stream, String name) throws DriverException {
    Consumer asking =
        streams.whenReady(
            "report the position of " + name + " in " + stream,
            () ->
                environment.consumerBuilder().stream(stream)
                    .name(name)
                    .manualTrackingStrategy()
                    .builder()
                    .messageHandler((at, found) -> {})
                    .build());
    try {
      return asking.storedOffset();
    } catch (NoOffsetException e) {
      return -1;
    } catch (RuntimeException e) {
      throw Failures.describe("report the position of " + name + " in " + stream, e);
    } finally {
      StreamProducer.closeQuietly(asking);
    }
  }
}
