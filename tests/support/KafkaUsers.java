import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialAlteration;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/**
 * Makes users and their rights on a test broker. Run from source by secure_kafka.py, with the
 * server's own jars. Arguments: bootstrap servers, then "scram USER PASSWORD" and "allow USER
 * RESOURCE-TYPE PREFIX OPERATION" in any order.
 */
final class KafkaUsers {
  public static void main(String[] args) throws Exception {
    List<UserScramCredentialAlteration> users = new ArrayList<>();
    List<AclBinding> rights = new ArrayList<>();
    for (int at = 1; at < args.length; ) {
      if (args[at].equals("scram")) {
        ScramCredentialInfo kind = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096);
        users.add(new UserScramCredentialUpsertion(args[at + 1], kind, args[at + 2]));
        at += 3;
      } else {
        ResourceType type = ResourceType.fromString(args[at + 2]);
        boolean cluster = type == ResourceType.CLUSTER;
        PatternType pattern = cluster ? PatternType.LITERAL : PatternType.PREFIXED;
        rights.add(
            new AclBinding(
                new ResourcePattern(type, args[at + 3], pattern),
                new AccessControlEntry(
                    "User:" + args[at + 1],
                    "*",
                    AclOperation.fromString(args[at + 4]),
                    AclPermissionType.ALLOW)));
        at += 5;
      }
    }
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
      admin.alterUserScramCredentials(users).all().get();
      admin.createAcls(rights).all().get();
    }
  }

  private KafkaUsers() {}
}
