package io.tidegauge.worker.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConfirmListener;
import com.rabbitmq.client.Consumer;
import com.rabbitmq.client.Envelope;
import com.rabbitmq.client.ShutdownSignalException;
import com.rabbitmq.stream.ConfirmationStatus;
import com.rabbitmq.stream.Constants;
import io.tidegauge.worker.api.ClientOptions;
import io.tidegauge.worker.api.ConsumerSpec;
import io.tidegauge.worker.api.InFlight;
import io.tidegauge.worker.api.MessageSink;
import io.tidegauge.worker.api.ProducerSpec;
import io.tidegauge.worker.drivers.SharedClients;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.Test;

/** What producers and consumers ask of their channel, and what they make of its answers. */
class ChannelTest {
  private static final ClientOptions OPTIONS =
      new ClientOptions(0, 0, "none", 10, 100, 1, "all", 100, Map.of(), Map.of(), 0);
  private static final Map<String, String> NOBODY = Map.of("uri", "amqp://127.0.0.1:1");
  private static final int HOUR_MS = 3_600_000;

  private final List<Object[]> calls = new ArrayList<>();

  /** Notes what it is asked to do, with the method's name first. */
  private <T> T noting(Class<T> type) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              int count = arguments == null ? 0 : arguments.length;
              Object[] call = new Object[count + 1];
              call[0] = method.getName();
              if (count > 0) {
                System.arraycopy(arguments, 0, call, 1, count);
              }
              calls.add(call);
              return method.getReturnType() == String.class ? "tag" : null;
            }));
  }

  private static SharedClients.Hold<AmqpConnection> held() throws Exception {
    Connection nobody = Connection.of(NOBODY);
    return new SharedClients<AmqpConnection>().take("", () -> new AmqpConnection(nobody, 0, "t"));
  }

  /** The first argument of this type that a call of this name was given. */
  private <T> T given(String method, Class<T> type) {
    for (Object[] call : calls) {
      for (Object argument : call) {
        if (call[0].equals(method) && type.isInstance(argument)) {
          return type.cast(argument);
        }
      }
    }
    throw new AssertionError("no " + method + " with a " + type);
  }

  private QueueProducer producer(boolean persistent) throws Exception {
    Topic topic = new Topic("t", 1, new TopicSettings(QueueType.CLASSIC, 1, persistent, Map.of()));
    QueueProducer producer =
        new QueueProducer(
            Connection.of(NOBODY),
            topic,
            new ProducerSpec("t", 0, 1, "producer", OPTIONS),
            held(),
            0,
            new ProducerOptions(false),
            /* keeper= */ null);
    producer.opened(noting(com.rabbitmq.client.Connection.class), noting(Channel.class));
    return producer;
  }

  @Test
  void messagesArePersistentWhereTheTopicSaysSo() throws Exception {
    producer(true).send(new Message());
    assertThat(given("basicPublish", AMQP.BasicProperties.class).getDeliveryMode()).isEqualTo(2);
    calls.clear();
    producer(false).send(new Message());
    assertThat(given("basicPublish", AMQP.BasicProperties.class).getDeliveryMode()).isEqualTo(1);
  }

  @Test
  void aNegativeConfirmIsAFailure() throws Exception {
    QueueProducer producer = producer(true);
    List<Message> sent = List.of(new Message(), new Message());
    sent.forEach(producer::send);
    ConfirmListener confirms = given("addConfirmListener", ConfirmListener.class);
    confirms.handleNack(1, false);
    confirms.handleAck(2, false);
    assertThat(sent).extracting(message -> message.outcomes).containsExactly("f", "a");
  }

  @Test
  void aLostChannelLeavesNoMessageWithoutAnOutcome() throws Exception {
    QueueProducer producer = producer(true);
    Message message = new Message();
    producer.send(message);
    producer.lost(new ShutdownSignalException(true, false, /* reason= */ null, /* ref= */ null));
    assertThat(message.outcomes).isEqualTo("f");
  }

  @Test
  void aStreamsMessageWithoutAConfirmHasFailed() {
    for (short code :
        new short[] {
          Constants.CODE_PUBLISH_CONFIRM_TIMEOUT,
          Constants.CODE_PRODUCER_NOT_AVAILABLE,
          Constants.CODE_PRODUCER_CLOSED
        }) {
      Message message = new Message();
      new StreamProducer.Confirmation(null, message)
          .handle(new ConfirmationStatus(null, false, code));
      assertThat(message.outcomes).isEqualTo("f");
    }
    Message message = new Message();
    new StreamProducer.Confirmation(null, message)
        .handle(new ConfirmationStatus(null, true, Constants.RESPONSE_CODE_OK));
    assertThat(message.outcomes).isEqualTo("a");
  }

  @Test
  void theWaitForABrokerThatBlocksEnds() {
    assertThat(QueueProducer.leftMs(1_000, 0)).isEqualTo(1_000);
    assertThat(QueueProducer.leftMs(1_000, 400_000_000L)).isEqualTo(600);
    assertThat(QueueProducer.leftMs(1_000, 1_000_000_000L)).isZero();
    assertThat(QueueProducer.reconnectMsMax(0)).isEqualTo(10_000);
    assertThat(QueueProducer.reconnectMsMax(700)).isEqualTo(700);
    assertThat(QueueProducer.reconnectMsMax(60_000)).isEqualTo(10_000);
  }

  @Test
  void closingAConsumerAcknowledgesWhatItHasProcessed() throws Exception {
    readThree(
        new ConsumerOptions(100, 0, HOUR_MS, false),
        () -> assertThat(calls).noneMatch(call -> call[0].equals("basicAck")));
    assertThat(calls)
        .filteredOn(call -> call[0].equals("basicAck"))
        .containsExactly(new Object[] {"basicAck", 3L, true});
    assertThat(given("basicConsume", Boolean.class)).isFalse();
  }

  @Test
  void acknowledgedAutomaticallyNothingIsAcknowledgedByHand() throws Exception {
    readThree(new ConsumerOptions(100, 1, HOUR_MS, true), () -> {});
    assertThat(calls).noneMatch(call -> call[0].equals("basicAck"));
    assertThat(given("basicConsume", Boolean.class)).isTrue();
  }

  /** Has a consumer read three messages and closes it, after what is to be looked at before. */
  private void readThree(ConsumerOptions options, Runnable beforeClosing) throws Exception {
    ScheduledExecutorService keeper = Executors.newSingleThreadScheduledExecutor();
    try {
      QueueConsumer consumer =
          new QueueConsumer(
              Connection.of(NOBODY),
              new ConsumerSpec("t", 0, 1, "sub-0", "consumer", false, OPTIONS),
              held(),
              options,
              partition -> "t." + partition,
              new Nowhere(),
              keeper,
              new AckRounds(keeper));
      consumer.opened(noting(com.rabbitmq.client.Connection.class), noting(Channel.class));
      consumer.assign(List.of(0));
      Consumer reader = given("basicConsume", Consumer.class);
      for (long delivery = 1; delivery <= 3; delivery++) {
        Envelope envelope = new Envelope(delivery, false, "t", "0");
        reader.handleDelivery("tag", envelope, new AMQP.BasicProperties(), new byte[1]);
      }
      beforeClosing.run();
      consumer.close();
    } finally {
      keeper.shutdownNow();
    }
  }

  /** Remembers its outcomes. */
  private static final class Message extends InFlight {
    String outcomes = "";

    @Override
    public byte[] value() {
      return new byte[1];
    }

    @Override
    public byte[] key() {
      return null;
    }

    @Override
    public void acked() {
      outcomes += "a";
    }

    @Override
    public void failed(Throwable cause) {
      outcomes += "f";
    }
  }

  /** Takes messages for no use. */
  private static final class Nowhere implements MessageSink {
    @Override
    public void received(int topic, int partition, byte[] array, int offset, int length, long ns) {}

    @Override
    public void error(Throwable cause) {
      throw new AssertionError(cause);
    }
  }
}
