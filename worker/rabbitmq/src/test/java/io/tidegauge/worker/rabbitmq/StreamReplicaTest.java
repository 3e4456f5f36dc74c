package io.tidegauge.worker.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.Consumer;
import com.rabbitmq.client.Envelope;
import io.tidegauge.worker.api.PartitionRead;
import io.tidegauge.worker.api.ReadBackSpec;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class StreamReplicaTest {
  private static final ReadBackSpec SPEC =
      new ReadBackSpec(
          "topic",
          0,
          1,
          Map.of(),
          "",
          true,
          false,
          Map.of(0, 0L),
          Map.of(),
          Set.of(),
          System.nanoTime() + TimeUnit.SECONDS.toNanos(30));

  /** A node that refuses the first {@code refusals} consumers and then has one message. */
  private static Connection node(int refusals) {
    List<Consumer> consumers = new ArrayList<>();
    Channel channel =
        proxy(
            Channel.class,
            (self, method, arguments) -> {
              switch (method.getName()) {
                case "basicConsume" -> {
                  Consumer consumer = (Consumer) arguments[arguments.length - 1];
                  consumers.add(consumer);
                  if (consumers.size() <= refusals) {
                    consumer.handleCancel("tag");
                  } else {
                    AMQP.BasicProperties properties =
                        new AMQP.BasicProperties.Builder()
                            .headers(Map.of("x-stream-offset", 0L))
                            .build();
                    consumer.handleDelivery(
                        "tag", new Envelope(1, false, "", ""), properties, new byte[1]);
                  }
                  return "tag";
                }
                case "basicCancel" -> consumers.get(consumers.size() - 1).handleCancelOk("tag");
                default -> {}
              }
              return null;
            });
    return proxy(
        Connection.class,
        (self, method, arguments) ->
            switch (method.getName()) {
              case "createChannel" -> channel;
              case "isOpen" -> true;
              default -> null;
            });
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  @Test
  void aNodeThatTakesItsFirstConsumerOffIsAskedAgain() throws Exception {
    PartitionRead read = new StreamReplica(SPEC, 0, (t, p, at, w, value) -> {}).read(node(1));
    assertThat(read.why()).isEmpty();
    assertThat(read.complete()).isTrue();
    assertThat(read.messages()).isEqualTo(1);
  }
}
