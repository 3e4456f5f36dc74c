import com.google.gson.GsonBuilder;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.ConfigDef.Validator;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.AppInfoParser;

/** Prints the settings of Kafka's clients by the definitions of their own library, as JSON. */
final class KafkaSettings {
  private static final int PROBED_MAX = 200;

  private KafkaSettings() {}

  public static void main(String[] args) throws ReflectiveOperationException {
    Map<String, Object> all = new TreeMap<>();
    all.put("library", "kafka-clients " + AppInfoParser.getVersion());
    // How to connect is the same for all clients, and said once.
    Predicate<String> own = name -> !name.matches("(sasl|ssl|security)\\..*");
    all.put("producer", settings(ProducerConfig.configDef(), own));
    all.put("consumer", settings(ConsumerConfig.configDef(), own));
    all.put("connection", settings(AdminClientConfig.configDef(), name -> true));
    all.put("reserved", ofDriver("RESERVED"));
    all.put("not of share groups", ofDriver("NOT_OF_SHARE_GROUPS"));
    System.out.println(new GsonBuilder().disableHtmlEscaping().create().toJson(all));
  }

  private static List<?> ofDriver(String constant) throws ReflectiveOperationException {
    Field field =
        Class.forName("io.tidegauge.worker.kafka.ClientSettings").getDeclaredField(constant);
    field.setAccessible(true);
    return ((Set<?>) field.get(null)).stream().sorted().toList();
  }

  private static Map<String, Object> settings(ConfigDef definition, Predicate<String> wanted)
      throws ReflectiveOperationException {
    Map<String, Object> all = new TreeMap<>();
    for (ConfigKey key : definition.configKeys().values()) {
      if (!key.internalConfig && wanted.test(key.name)) {
        all.put(key.name, setting(key));
      }
    }
    return all;
  }

  private static Map<String, Object> setting(ConfigKey key) throws ReflectiveOperationException {
    Map<String, Object> facts = new TreeMap<>();
    switch (key.type) {
      case BOOLEAN, SHORT, INT, LONG, DOUBLE -> facts.put("type", key.type.name().toLowerCase(Locale.ROOT));
      default -> {}
    }
    Validator validator = key.validator;
    if (validator instanceof ConfigDef.Range range) {
      addBound(facts, "least", range, "min");
      addBound(facts, "most", range, "max");
    } else if (validator != null && key.type == Type.INT) {
      facts.put(
          "allowed",
          IntStream.rangeClosed(-PROBED_MAX, PROBED_MAX)
              .filter(number -> accepts(key, number))
              .mapToObj(Integer::toString)
              .toList());
    } else if (validator != null && key.type == Type.STRING) {
      addWords(facts, key);
    }
    return facts;
  }

  private static void addBound(Map<String, Object> facts, String name, Object range, String field)
      throws ReflectiveOperationException {
    Field bound = ConfigDef.Range.class.getDeclaredField(field);
    bound.setAccessible(true);
    if (bound.get(range) != null) {
      facts.put(name, bound.get(range));
    }
  }

  /** The words that a validator lists, each tried; of "by_duration:PnDTnHnMn.nS" only what it begins with. */
  private static void addWords(Map<String, Object> facts, ConfigKey key) {
    String text = key.validator.toString();
    int from = text.indexOf('[');
    if (from < 0 || !text.endsWith("]")) {
      return;
    }
    List<String> words = new ArrayList<>();
    for (String word : Arrays.asList(text.substring(from + 1, text.length() - 1).split(",\\s*"))) {
      words.add(accepts(key, word) ? word : word.substring(0, word.indexOf(':') + 1));
    }
    facts.put("allowed", words);
    if (accepts(key, words.get(0).toLowerCase(Locale.ROOT))
        && accepts(key, words.get(0).toUpperCase(Locale.ROOT))
        && !words.get(0).toLowerCase(Locale.ROOT).equals(words.get(0).toUpperCase(Locale.ROOT))) {
      facts.put("any case", true);
      words.sort(null);
    }
  }

  private static boolean accepts(ConfigKey key, Object value) {
    try {
      key.validator.ensureValid(key.name, value);
      return true;
    } catch (ConfigException e) {
      return false;
    }
  }
}
