package io.tidegauge.worker.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ShutdownListener;
import com.rabbitmq.client.ShutdownSignalException;
import io.tidegauge.worker.drivers.SharedClients;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Links that share a connection. */
class AmqpLinkTest {
  private final ScheduledExecutorService keeper = Executors.newSingleThreadScheduledExecutor();
  private final List<String> calls = new ArrayList<>();
  private final List<ShutdownListener> channels = new ArrayList<>();
  private final SharedClients<AmqpConnection> connections = new SharedClients<>();
  private volatile boolean isOpen = true;

  @AfterEach
  void end() {
    keeper.shutdownNow();
  }

  private synchronized void note(String call) {
    calls.add(call);
  }

  private synchronized long count(String call) {
    return calls.stream().filter(call::equals).count();
  }

  private <T> T fake(Class<T> type, String name) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              note(name + " " + method.getName());
              return switch (method.getName()) {
                case "isOpen" -> isOpen;
                case "createChannel" -> fake(Channel.class, "channel");
                case "addShutdownListener" -> channels.add((ShutdownListener) arguments[0]);
                default -> null;
              };
            }));
  }

  private AmqpLink opened() throws Exception {
    SharedClients.Hold<AmqpConnection> held =
        connections.take(
            "",
            () ->
                new AmqpConnection(
                    "t",
                    deliveries -> {
                      note("connect");
                      isOpen = true;
                      return fake(com.rabbitmq.client.Connection.class, "connection");
                    }));
    Connection settings = Connection.of(Map.of("uri", "amqp://127.0.0.1:1"));
    AmqpLink link = new AmqpLink(settings, held, "t", keeper, new Nobody());
    link.open();
    return link;
  }

  /** Two of a thousand and one, which come by turns: on the same connection. */
  private List<AmqpLink> two() throws Exception {
    connections.expect(SharedClients.MOST + 1, SharedClients.MOST);
    return List.of(opened(), opened());
  }

  @Test
  void linksOfOneConnectionHaveAChannelEachAndTheLastClosesIt() throws Exception {
    List<AmqpLink> links = two();
    assertThat(count("connect")).isEqualTo(1);
    assertThat(count("connection createChannel")).isEqualTo(2);
    links.get(0).close();
    links.get(0).close();
    assertThat(count("channel abort")).isEqualTo(1);
    assertThat(count("connection abort")).isZero();
    links.get(1).close();
    assertThat(count("connection abort")).isEqualTo(1);
  }

  @Test
  void aChannelThatIsLostIsOpenedAgainAndTheOthersStay() throws Exception {
    List<AmqpLink> links = two();
    channels.get(0).shutdownCompleted(new ShutdownSignalException(false, false, null, null));
    await("connection createChannel", 3);
    assertThat(count("connect")).isEqualTo(1);
    assertThat(count("connection abort")).isZero();
    links.forEach(AmqpLink::close);
  }

  @Test
  void aConnectionThatIsLostIsOpenedOnceForAll() throws Exception {
    List<AmqpLink> links = two();
    isOpen = false;
    List.copyOf(channels)
        .forEach(
            channel ->
                channel.shutdownCompleted(new ShutdownSignalException(true, false, null, null)));
    await("connection createChannel", 4);
    assertThat(count("connect")).isEqualTo(2);
    links.forEach(AmqpLink::close);
  }

  private void await(String call, long wanted) throws InterruptedException {
    for (int tries = 0; tries < 1000 && count(call) < wanted; tries++) {
      Thread.sleep(10);
    }
    assertThat(count(call)).isEqualTo(wanted);
  }

  /** Has no use for a channel. */
  private static final class Nobody implements AmqpLink.User {
    @Override
    public void opened(com.rabbitmq.client.Connection connection, Channel channel) {}

    @Override
    public void lost(ShutdownSignalException cause) {}
  }
}
