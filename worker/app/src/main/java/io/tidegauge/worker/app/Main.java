package io.tidegauge.worker.app;

import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.TlsServerCredentials.ClientAuth;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The worker process. Reads a secret from the first line of standard input, serves on a free port
 * of the loopback address, and writes the port to a file. Ends when its controller says so or
 * disappears.
 *
 * <p>For a controller on another host it serves on the first free one of the given ports of its
 * address, by mutual TLS: standard input then has three more lines, its key, its certificate and
 * the authority's, all PEM in Base64.
 */
public final class Main {
  /** A Totals reply carries several histograms for each subscription. */
  static final int MESSAGE_BYTES_MAX = 64 << 20;

  private static final int SECRET_CHARS_MIN = 16;

  private Main() {}

  public static void main(String[] args) {
    logToStandardError();
    try {
      Path portFile = Path.of(argument(args, 0, "--port-file"));
      Path results = Path.of(argument(args, 2, "--results"));
      run(portFile, results, args.length == 4 ? null : argument(args, 4, "--listen"));
    } catch (IOException | UncheckedIOException | IllegalArgumentException e) {
      System.err.println("tidegauge worker: " + e.getMessage());
      Runtime.getRuntime().halt(2);
    } catch (InterruptedException e) {
      Runtime.getRuntime().halt(130);
    }
  }

  /**
   * Standard error is the worker's log. Clients talk a lot: only what may matter to the user. By
   * the JDK's own logging, whose lines a driver may follow.
   */
  private static void logToStandardError() {
    System.setProperty("slf4j.internal.verbosity", "WARN");
    System.setProperty("slf4j.provider", "org.slf4j.jul.JULServiceProvider");
    System.setProperty(
        "java.util.logging.SimpleFormatter.format", "%1$tF %1$tT.%1$tL %4$s %3$s - %5$s%6$s%n");
    Logger.getLogger("").setLevel(Level.WARNING);
  }

  /** What follows an option; they are needed in this order, the last is not. */
  private static String argument(String[] args, int place, String option) {
    if ((args.length == 4 || args.length == 6) && args[place].equals(option)) {
      return args[place + 1];
    }
    throw new IllegalArgumentException(
        "usage: java -cp ... io.tidegauge.worker.app.Main --port-file PATH --results DIRECTORY"
            + " [--listen ADDRESS:PORT-PORT] (secrets on stdin)");
  }

  private static void run(Path portFile, Path directory, String listen)
      throws IOException, InterruptedException {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    String secret = readSecret(in);
    Results results = new Results(directory);
    Consumer<String> end =
        reason -> {
          results.keep(reason);
          end(reason);
        };
    // Asked by a signal, or as programs end.
    Runtime.getRuntime()
        .addShutdownHook(new Thread(() -> results.keep("it was asked to end"), "tg-results"));
    Lease lease = new Lease(end);
    WorkerService service = new WorkerService(lease, end, Main::exit, results);
    Server server =
        listen == null
            ? start(service, secret)
            : start(service, secret, Listen.parse(listen), credentials(in));
    lease.startWaitingForController();
    writePort(portFile, server.getPort());
    server.awaitTermination();
  }

  /** Starts the service on a free loopback port. */
  static Server start(WorkerService service, String secret) throws IOException {
    InetSocketAddress loopback =
        new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0);
    return start(service, secret, loopback, InsecureServerCredentials.create());
  }

  /** Where a worker listens for a controller on another host. */
  private record Listen(InetAddress address, int firstPort, int lastPort) {
    static Listen parse(String text) throws IOException {
      String[] parts = text.split("[:-]", 3);
      if (parts.length < 3) {
        throw new IllegalArgumentException("--listen takes ADDRESS:PORT-PORT, not " + text);
      }
      return new Listen(
          InetAddress.getByName(parts[0]), Integer.parseInt(parts[1]), Integer.parseInt(parts[2]));
    }
  }

  /** Starts the service on the first of the ports that is free. */
  static Server start(
      WorkerService service, String secret, Listen listen, ServerCredentials credentials)
      throws IOException {
    IOException taken = new IOException("there is no port to listen on");
    for (int port = listen.firstPort; port <= listen.lastPort; port++) {
      try {
        return start(service, secret, new InetSocketAddress(listen.address, port), credentials);
      } catch (IOException e) {
        taken = e;
      }
    }
    throw taken;
  }

  private static Server start(
      WorkerService service, String secret, InetSocketAddress at, ServerCredentials credentials)
      throws IOException {
    return NettyServerBuilder.forAddress(at, credentials)
        .maxInboundMessageSize(MESSAGE_BYTES_MAX)
        .intercept(new SecretCheck(secret))
        .addService(service)
        .permitKeepAliveTime(1, TimeUnit.SECONDS)
        .build()
        .start();
  }

  /** Key, certificate and authority, a line each: only who has a certificate of it is served. */
  private static ServerCredentials credentials(BufferedReader in) throws IOException {
    List<byte[]> pem =
        in.lines().limit(3).map(line -> Base64.getDecoder().decode(line.strip())).toList();
    if (pem.size() < 3) {
      throw new IOException(
          "standard input must go on with key, certificate and authority, a line each");
    }
    return TlsServerCredentials.newBuilder()
        .keyManager(new ByteArrayInputStream(pem.get(1)), new ByteArrayInputStream(pem.get(0)))
        .trustManager(new ByteArrayInputStream(pem.get(2)))
        .clientAuth(ClientAuth.REQUIRE)
        .build();
  }

  private static String readSecret(BufferedReader in) throws IOException {
    String secret = in.readLine();
    if (secret == null || secret.strip().length() < SECRET_CHARS_MIN) {
      throw new IOException(
          "the first line of standard input must be a secret of at least "
              + SECRET_CHARS_MIN
              + " characters");
    }
    return secret.strip();
  }

  private static void writePort(Path file, int port) throws IOException {
    Path next = file.resolveSibling(file.getFileName() + ".new");
    Files.writeString(next, port + "\n", StandardCharsets.US_ASCII);
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  /** Ends the process as programs do; by then its clients are closed. */
  private static void exit(String reason) {
    System.err.println("tidegauge worker: ends: " + reason);
    System.exit(0);
  }

  /** Ends the process at once: clients may be stuck in calls to a system that is gone. */
  private static void end(String reason) {
    System.err.println("tidegauge worker: ends: " + reason);
    System.err.flush();
    Runtime.getRuntime().halt(0);
  }
}
