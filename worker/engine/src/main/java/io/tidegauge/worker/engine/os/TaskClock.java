package io.tidegauge.worker.engine.os;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Linux's own account of one thread: how long it ran and how long it was runnable without a CPU
 * (the first two numbers of {@code /proc/self/task/TID/schedstat}; the second includes throttling
 * by a CPU quota). Reads 0 where the kernel does not say.
 */
public final class TaskClock {
  private final FileChannel schedstat;
  private final ByteBuffer buffer = ByteBuffer.allocate(96);
  private long ranNs;
  private long waitedNs;

  private TaskClock(FileChannel schedstat) {
    this.schedstat = schedstat;
  }

  /** The calling thread's account. */
  public static TaskClock ofCurrentThread() {
    try {
      String tid = currentTid();
      Path file = Path.of("/proc/self/task", tid, "schedstat");
      return new TaskClock(FileChannel.open(file, StandardOpenOption.READ));
    } catch (IOException | UnsupportedOperationException e) {
      return new TaskClock(null);
    }
  }

  private static String currentTid() throws IOException {
    return Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString();
  }

  /**
   * Lets timed waits of the calling thread end within about 5 us instead of 55 us after they
   * should: the kernel's default timer slack is 50 us. Returns whether the kernel allowed it.
   */
  public static boolean sharpenTimers() {
    try {
      Files.writeString(
          Path.of("/proc", currentTid(), "timerslack_ns"), "1", StandardCharsets.US_ASCII);
      return true;
    } catch (IOException | UnsupportedOperationException | UncheckedIOException e) {
      return false;
    }
  }

  /**
   * Time that the thread has waited for a CPU so far; the last known value once the thread has
   * ended.
   */
  public synchronized long cpuWaitNs() {
    look();
    return waitedNs;
  }

  /** Time that the thread has run or waited for a CPU so far; likewise. */
  public synchronized long busyNs() {
    look();
    return ranNs + waitedNs;
  }

  private void look() {
    if (schedstat == null) {
      return;
    }
    try {
      buffer.clear();
      if (schedstat.read(buffer, 0) > 0) {
        buffer.flip();
        ranNs = nextNumber();
        waitedNs = nextNumber();
      }
    } catch (IOException e) {
      // The thread or its account is gone: what was known last stays.
    }
  }

  private long nextNumber() {
    long n = 0;
    while (buffer.hasRemaining()) {
      byte b = buffer.get();
      if (b < '0' || b > '9') {
        break;
      }
      n = n * 10 + (b - '0');
    }
    return n;
  }

  public synchronized void close() {
    if (schedstat != null) {
      look();
      try {
        schedstat.close();
      } catch (IOException e) {
        // Nothing is left to be read, and what was known stays.
      }
    }
  }
}
