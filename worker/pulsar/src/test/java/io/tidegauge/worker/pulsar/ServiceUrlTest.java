package io.tidegauge.worker.pulsar;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.apache.pulsar.common.net.ServiceURI;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Several brokers in one URL, as a campaign hands it on, and as Pulsar's own client reads it. */
class ServiceUrlTest {
  private static final List<String> BROKERS = List.of("h1:6650", "h2:6650", "h3:6650");

  @ParameterizedTest
  @ValueSource(strings = {"pulsar", "pulsar+ssl"})
  void theClientFindsTheBrokersThatAreTriedBefore(String scheme) throws Exception {
    String admin = scheme.equals("pulsar") ? "http://h1:8080" : "https://h1:8443";
    Connection connection =
        Connection.of(
            Map.of("serviceUrl", scheme + "://" + String.join(",", BROKERS), "adminUrl", admin));
    assertThat(connection.servers()).isEqualTo(BROKERS);
    assertThat(ServiceURI.create(connection.serviceUrl()).getServiceHosts())
        .containsExactlyElementsOf(BROKERS);
  }
}
