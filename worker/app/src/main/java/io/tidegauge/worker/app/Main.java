package io.tidegauge.worker.app;

import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The worker process. Reads a secret from the first line of standard input, serves on a free port
 * of the loopback address, and writes the port to a file. Ends when its controller says so or
 * disappears.
 */
public final class Main {
  /** A Totals reply carries several histograms for each subscription. */
  static final int MESSAGE_BYTES_MAX = 64 << 20;

  private static final int SECRET_CHARS_MIN = 16;

  private Main() {}

  public static void main(String[] args) {
    try {
      run(argument(args, 0, "--port-file"), argument(args, 2, "--results"));
    } catch (IOException | IllegalArgumentException e) {
      System.err.println("tidegauge worker: " + e.getMessage());
      Runtime.getRuntime().halt(2);
    } catch (InterruptedException e) {
      Runtime.getRuntime().halt(130);
    }
  }

  /** The path that follows an option; all of them are needed, in this order. */
  private static Path argument(String[] args, int place, String option) {
    if (args.length == 4 && args[place].equals(option)) {
      return Path.of(args[place + 1]);
    }
    throw new IllegalArgumentException(
        "usage: java -cp ... io.tidegauge.worker.app.Main --port-file PATH --results DIRECTORY"
            + " (secret on stdin)");
  }

  private static void run(Path portFile, Path directory) throws IOException, InterruptedException {
    String secret = readSecret();
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
    Server server = start(new WorkerService(lease, end, Main::exit, results), secret);
    lease.startWaitingForController();
    writePort(portFile, server.getPort());
    server.awaitTermination();
  }

  /** Starts the service on a free loopback port. */
  static Server start(WorkerService service, String secret) throws IOException {
    InetSocketAddress loopback =
        new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0);
    return NettyServerBuilder.forAddress(loopback)
        .maxInboundMessageSize(MESSAGE_BYTES_MAX)
        .intercept(new SecretCheck(secret))
        .addService(service)
        .permitKeepAliveTime(1, TimeUnit.SECONDS)
        .build()
        .start();
  }

  private static String readSecret() throws IOException {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
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
