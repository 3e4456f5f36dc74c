package io.tidegauge.worker.engine.os;

import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** What this process has used: CPU, garbage collection pauses, memory. */
public final class ProcessUse {
  private static final com.sun.management.OperatingSystemMXBean OS =
      (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private static final List<GarbageCollectorMXBean> PAUSING =
      ManagementFactory.getGarbageCollectorMXBeans().stream()
          .filter(bean -> !bean.getName().contains("Cycles"))
          .filter(bean -> !bean.getName().contains("Concurrent"))
          .toList();

  /** Null in a JVM that only interprets. */
  private static final CompilationMXBean JIT = ManagementFactory.getCompilationMXBean();

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
   * Time that the JIT has compiled, over all of its threads; the JVM counts whole milliseconds, and
   * a compilation once it is done. 0 if the JVM does not tell.
   */
  public static long jitNs() {
    return JIT == null || !JIT.isCompilationTimeMonitoringSupported()
        ? 0
        : Math.max(0, JIT.getTotalCompilationTime()) * 1_000_000;
  }

  public static long heapUsedBytes() {
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  /** Resident memory (VmRSS); 0 if the kernel does not tell. */
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
