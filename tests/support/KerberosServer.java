import java.io.File;
import java.util.Arrays;
import org.apache.kerby.kerberos.kerb.server.SimpleKdcServer;

/**
 * A realm of Kerberos on loopback, until its standard input ends. Arguments: a directory, for its
 * krb5.conf; the port; the keytab to write, and of whom.
 */
public final class KerberosServer {
  public static void main(String[] args) throws Exception {
    SimpleKdcServer server = new SimpleKdcServer();
    server.setKdcRealm("TESTS.EXAMPLE");
    server.setKdcHost("127.0.0.1");
    server.setAllowUdp(false);
    server.setKdcTcpPort(Integer.parseInt(args[1]));
    server.setWorkDir(new File(args[0]));
    server.init();
    server.start();
    String[] principals = Arrays.copyOfRange(args, 3, args.length);
    server.createPrincipals(principals);
    for (String principal : principals) {
      server.exportPrincipal(principal, new File(args[2]));
    }
    System.out.println("ready");
    System.out.flush();
    while (System.in.read() >= 0) {}
    server.stop();
  }
}
