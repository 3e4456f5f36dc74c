package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads the settings in force back through the admin API: of every broker, of the namespace, and of
 * the topics asked for, with the quorums that their ledgers were really made with. Bookies have no
 * part in this API.
 */
final class Description {
  private static final Pattern SECRET =
      Pattern.compile("(?i).*(password|secret|authParam|AuthenticationParameters).*");
  private static final Pattern QUORUM =
      Pattern.compile("(ensembleSize|writeQuorumSize|ackQuorumSize)=(\\d+)");

  private final AdminRest rest;
  private final Connection connection;
  private final List<EffectiveSetting> found = new ArrayList<>();

  Description(AdminRest rest, Connection connection) {
    this.rest = rest;
    this.connection = connection;
  }

  List<EffectiveSetting> read(List<String> topics) throws DriverException {
    for (String broker : brokers()) {
      readBroker(broker);
    }
    readNamespace();
    for (String topic : topics) {
      readTopic(topic);
    }
    return found;
  }

  /** Web addresses, host:port, of the active brokers. */
  private List<String> brokers() throws DriverException {
    List<String> brokers = new ArrayList<>();
    if (Json.parse(rest.require("list its brokers", "GET", "brokers", null))
        instanceof List<?> answer) {
      answer.forEach(broker -> brokers.add(String.valueOf(broker)));
    }
    add("cluster", "brokers", brokers.size());
    return brokers;
  }

  private void readBroker(String broker) throws DriverException {
    String scope = "broker " + broker;
    String scheme = connection.adminUrl().substring(0, connection.adminUrl().indexOf("://") + 3);
    AdminRest.Answer version = rest.callAt(scheme + broker, "GET", "brokers/version", null);
    if (version.good()) {
      add(scope, "version", version.body().replace("\"", "").strip());
    }
    AdminRest.Answer runtime =
        rest.callAt(scheme + broker, "GET", "brokers/configuration/runtime", null);
    if (!runtime.good()) {
      throw new DriverException(
          "Pulsar could not tell the configuration of " + scope + ": " + runtime.reason());
    }
    Json.parseObject(runtime.body()).forEach((name, value) -> add(scope, name, value));
  }

  private void readNamespace() throws DriverException {
    String body =
        rest.require("describe the namespace", "GET", "namespaces/" + connection.namespace(), null);
    String scope = "namespace " + connection.namespace();
    Json.parseObject(body).forEach((name, value) -> add(scope, name, value));
  }

  private void readTopic(String topic) throws DriverException {
    String scope = "topic " + topic;
    String path = "persistent/" + connection.namespace() + "/" + topic;
    Object partitions =
        Json.parseObject(rest.require("describe " + scope, "GET", path + "/partitions", null))
            .get("partitions");
    boolean plain = partitions == null || partitions.equals(0);
    add(scope, "partitions", plain ? 1 : partitions);
    add(scope, "partitioned", !plain);
    AdminRest.Answer policy = rest.call("GET", path + "/persistence?applied=true", null);
    if (policy.good()) {
      Json.parseObject(policy.body()).forEach((name, value) -> add(scope, name, value));
    }
    // The truth of the newest ledger of one partition; policies only say what the next one will be.
    String first = plain ? path : path + "-partition-0";
    String ledgers =
        rest.require(
            "describe the ledgers of " + topic,
            "GET",
            first + "/internalStats?metadata=true",
            null);
    if (Json.parseObject(ledgers).get("ledgers") instanceof List<?> list && !list.isEmpty()) {
      Matcher quorum = QUORUM.matcher(String.valueOf(list.get(list.size() - 1)));
      while (quorum.find()) {
        add(scope, "ledger." + quorum.group(1), quorum.group(2));
      }
    }
  }

  private void add(String scope, String name, Object value) {
    String text = Json.text(value);
    boolean hidden = !text.isEmpty() && SECRET.matcher(name).matches();
    found.add(new EffectiveSetting(scope, name, hidden ? "(hidden)" : text, null));
  }
}
