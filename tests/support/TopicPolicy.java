import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/**
 * What services refuse of topics, by how a topic's name begins: "list-" all settings but a few, by name; "silent-" any
 * setting, without a name; "size-" batches above 8 MiB; "closed-" every topic. Each refusal has its number.
 */
public final class TopicPolicy implements CreateTopicPolicy {
  private static final Set<String> SETTABLE =
      Set.of("cleanup.policy", "compression.type", "max.message.bytes", "retention.bytes", "retention.ms");
  private static final long BYTES_MAX = 8 << 20;
  private static final Map<String, AtomicInteger> REFUSALS = new ConcurrentHashMap<>();

  @Override
  public void configure(Map<String, ?> settings) {}

  @Override
  public void close() {}

  @Override
  public void validate(RequestMetadata topic) {
    String kind = topic.topic().split("-")[0];
    Map<String, String> settings = topic.configs();
    if (kind.equals("closed")) {
      throw refusal(kind, "Topics are made by an operator");
    }
    if (kind.equals("silent") && !settings.isEmpty()) {
      throw refusal(kind, "Topics have no settings of their own");
    }
    for (Map.Entry<String, String> setting : settings.entrySet()) {
      if (kind.equals("list") && !SETTABLE.contains(setting.getKey())) {
        throw refusal(kind, "Config property '" + setting.getKey() + "' can't be set");
      }
      boolean size = setting.getKey().equals("max.message.bytes");
      if (kind.equals("size") && size && Long.parseLong(setting.getValue()) > BYTES_MAX) {
        throw refusal(kind, "Config property 'max.message.bytes' exceeded max limit of " + BYTES_MAX);
      }
    }
  }

  private static PolicyViolationException refusal(String kind, String words) {
    int number = REFUSALS.computeIfAbsent(kind, one -> new AtomicInteger()).incrementAndGet();
    return new PolicyViolationException(words + " [" + number + "]");
  }
}
