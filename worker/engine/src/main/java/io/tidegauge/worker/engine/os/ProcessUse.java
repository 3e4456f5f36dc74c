package io.tidegauge.worker.engine.os;

import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What this process has used: CPU, garbage collection pauses, memory. */
public final class ProcessUse {
  private static final com.sun.management.OperatingSystemMXBean OS =
      (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private static final List<GarbageCollectorMXBean> PAUSING =
      ManagementFactory.getGarbageCollectorMXBeans().stream()
          .filter(bean -> !bean.getName().contains("Cycles"))
          .filter(bean -> !bean.getName().contains("Concurrent"))
          .toList();

  /** Of the JIT's threads by their number; and the numbers of all others. */
  private static final Map<String, Long> JIT_NS = new HashMap<>();

  private static final Set<String> OTHERS = new HashSet<>();

  private ProcessUse() {}

  /** User and system time of the whole process. */
  public static long cpuNs() {
    return Math.max(0, OS.getProcessCpuTime());
  }

  /** Time spent in collections that stop the program; the JVM counts whole milliseconds. */
  public static long gcPauseNs() {
    long ms = 0;
    for (GarbageCollectorMXBean bean : PAUSING) {
      ms += Math.max(0, bean.getCollectionTime());
    }
    return ms * 1_000_000;
  }

  /**
   * CPU time of the JIT's threads so far, with those that have ended as far as they were seen; 0 if
   * the kernel does not say. The JVM's own figure also counts the time for which they waited.
   */
  public static synchronized long jitNs() {
    try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
      for (Path task : tasks) {
        String tid = task.getFileName().toString();
        if (!OTHERS.contains(tid)) {
          lookAt(task, tid);
        }
      }
    } catch (IOException | DirectoryIteratorException e) {
      // What was known stays.
    }
    return JIT_NS.values().stream().mapToLong(Long::longValue).sum();
  }

  private static void lookAt(Path task, String tid) {
    try {
      String name = Files.readString(task.resolve("comm")).strip();
      if (name.startsWith("C1 Compiler") || name.startsWith("C2 Compiler")) {
        String ran = Files.readString(task.resolve("schedstat")).split(" ", 2)[0];
        JIT_NS.merge(tid, Long.parseLong(ran), Math::max);
      } else if (!name.equals("java")) {
        // A new thread is called as the process is until it has set its name.
        OTHERS.add(tid);
      }
    } catch (IOException | NumberFormatException e) {
      // It has ended, or the kernel keeps no account.
    }
  }

  public static long heapUsedBytes() {
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  /** Resident memory (VmRSS); 0 if the kernel does not say. */
  public static long residentBytes() {
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
        if (line.startsWith("VmRSS:")) {
          return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
        }
      }
    } catch (IOException | NumberFormatException e) {
      return 0;
    }
    return 0;
  }
}
