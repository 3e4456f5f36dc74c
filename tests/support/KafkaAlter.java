import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;

/**
 * Sets one setting of all topics that begin so but for one, and prints their names. Run from source
 * by tests, with the server's own jars. Arguments: bootstrap servers, beginning, the one that is
 * left, name, value.
 */
final class KafkaAlter {
  public static void main(String[] args) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
      for (String name : admin.listTopics().names().get()) {
        if (name.startsWith(args[1]) && !name.equals(args[2])) {
          var topic = new ConfigResource(ConfigResource.Type.TOPIC, name);
          var set = new AlterConfigOp(new ConfigEntry(args[3], args[4]), AlterConfigOp.OpType.SET);
          admin.incrementalAlterConfigs(Map.of(topic, List.of(set))).all().get();
          System.out.println(name);
        }
      }
    }
  }
}
