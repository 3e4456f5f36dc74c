import com.google.gson.GsonBuilder;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.pulsar.PulsarVersion;
import org.apache.pulsar.client.impl.conf.ConsumerConfigurationData;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/** Prints the settings of Pulsar's clients by the fields of its own configuration classes, as JSON. */
final class PulsarSettings {
  private PulsarSettings() {}

  public static void main(String[] args) throws ReflectiveOperationException {
    Map<String, Object> all = new TreeMap<>();
    all.put("library", "pulsar-client " + PulsarVersion.getVersion());
    all.put("producer", settings(ProducerConfigurationData.class));
    all.put("consumer", settings(ConsumerConfigurationData.class));
    Field reserved =
        Class.forName("io.tidegauge.worker.pulsar.ClientSettings").getDeclaredField("RESERVED");
    reserved.setAccessible(true);
    all.put("reserved", ((Set<?>) reserved.get(null)).stream().sorted().toList());
    System.out.println(new GsonBuilder().disableHtmlEscaping().create().toJson(all));
  }

  private static Map<String, Object> settings(Class<?> configuration) {
    var mapper = ObjectMapperFactory.getMapperWithIncludeAlways().getObjectMapper();
    var type = mapper.constructType(configuration);
    Map<String, Object> all = new TreeMap<>();
    for (var property : mapper.getDeserializationConfig().introspect(type).findProperties()) {
      all.put(property.getName(), setting(property.getRawPrimaryType()));
    }
    return all;
  }

  private static Map<String, Object> setting(Class<?> type) {
    if (type.isEnum()) {
      List<String> names = Arrays.stream(type.getEnumConstants()).map(one -> ((Enum<?>) one).name()).toList();
      return Map.of("allowed", names);
    }
    return switch (type.getSimpleName()) {
      case "boolean", "Boolean" -> Map.of("type", "boolean");
      case "int", "Integer" -> Map.of("type", "int");
      case "long", "Long" -> Map.of("type", "long");
      case "double", "Double" -> Map.of("type", "double");
      case "String" -> Map.of();
      // The driver gives text, of which Jackson makes no set, map or policy.
      default -> Map.of("type", "structure");
    };
  }
}
