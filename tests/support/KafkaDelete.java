import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.TopicPartition;

/**
 * Deletes all records that the first partition of a topic has now, and prints the offset of the
 * first that comes next. Run from source by tests, with the server's own jars. Arguments: bootstrap
 * servers, topic, and "whole" to delete the topic itself after that.
 */
final class KafkaDelete {
  public static void main(String[] args) throws Exception {
    TopicPartition partition = new TopicPartition(args[1], 0);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
      long end =
          admin.listOffsets(Map.of(partition, OffsetSpec.latest())).all().get().get(partition).offset();
      admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(end))).all().get();
      System.out.println(end);
      if (args.length > 2) {
        admin.deleteTopics(List.of(args[1])).all().get();
      }
    }
  }
}
