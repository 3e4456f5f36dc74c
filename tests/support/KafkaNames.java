import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.NewTopic;

/**
 * Prints "topic NAME" and "group NAME" for everything that a test broker has. Run from source by
 * tests, with the server's own jars. Arguments: bootstrap servers, then topics to create first.
 */
final class KafkaNames {
  public static void main(String[] args) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
      for (String name : List.of(args).subList(1, args.length)) {
        NewTopic topic = new NewTopic(name, Optional.of(1), Optional.empty());
        admin.createTopics(List.of(topic)).all().get();
      }
      for (String name : admin.listTopics().names().get()) {
        System.out.println("topic " + name);
      }
      for (GroupListing group : admin.listGroups(new ListGroupsOptions()).all().get()) {
        System.out.println("group " + group.groupId());
      }
    }
  }
}
