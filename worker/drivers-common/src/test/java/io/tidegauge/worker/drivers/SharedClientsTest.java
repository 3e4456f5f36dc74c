package io.tidegauge.worker.drivers;

import static org.assertj.core.api.Assertions.assertThat;

import io.tidegauge.worker.api.DriverException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SharedClientsTest {
  private final SharedClients<Integer> clients = new SharedClients<>();
  private int made;

  private List<SharedClients.Hold<Integer>> take(String group, int users) throws DriverException {
    List<SharedClients.Hold<Integer>> all = new ArrayList<>();
    for (int user = 0; user < users; user++) {
      all.add(clients.take(group, () -> made++));
    }
    return all;
  }

  @Test
  void upToAThousandHaveAClientEach() throws Exception {
    clients.expect(SharedClients.MOST, 1);
    assertThat(take("", SharedClients.MOST)).allMatch(SharedClients.Hold::isAlone);
    assertThat(made).isEqualTo(1000);
    assertThat(clients.areShared()).isFalse();
    assertThat(clients.usersEach()).isEqualTo(1);
    assertThat(clients.disclosed("producer")).isEmpty();
  }

  @Test
  void moreShareAThousandByTurns() throws Exception {
    clients.expect(2500, 1);
    List<SharedClients.Hold<Integer>> all = take("", 2500);
    assertThat(made).isEqualTo(1000);
    assertThat(all.get(2100).client()).isEqualTo(100);
    assertThat(clients.usersEach()).isEqualTo(3);
    assertThat(clients.disclosed("producer").orElseThrow().value())
        .isEqualTo("1000 shared by 2500");
  }

  @Test
  void groupsShareNothing() throws Exception {
    clients.expect(1200, 2);
    assertThat(take("sub-0", 600)).allMatch(held -> held.client() < 500);
    assertThat(take("sub-1", 600)).allMatch(held -> held.client() >= 500);
    assertThat(made).isEqualTo(1000);
  }

  @Test
  void theLastUserClosesAndWhoeverComesLaterGetsAnotherClient() throws Exception {
    clients.expect(2000, 1);
    List<SharedClients.Hold<Integer>> all = take("", 2000);
    assertThat(all.get(0).isAlone()).isFalse();
    assertThat(all.get(0).release()).isFalse();
    assertThat(all.get(0).release()).isFalse();
    assertThat(all.get(0).isAlone()).isFalse();
    assertThat(all.get(1000).isAlone()).isTrue();
    assertThat(all.get(1000).release()).isTrue();
    assertThat(all.get(1000).release()).isFalse();
    assertThat(clients.take("", () -> made++).client()).isEqualTo(1000);
  }
}
