package io.tidegauge.worker.app;

import io.tidegauge.worker.proto.HandshakeReply;
import java.lang.management.ManagementFactory;

/** What the worker says of itself. */
final class Introduction {
  static final int PROTOCOL_VERSION = 3;
  static final String WORKER_VERSION = "0.1.0";

  private Introduction() {}

  static HandshakeReply of(Drivers drivers) {
    return HandshakeReply.newBuilder()
        .setProtocolVersion(PROTOCOL_VERSION)
        .setWorkerVersion(WORKER_VERSION)
        .setPid(ProcessHandle.current().pid())
        .setJavaVersion(System.getProperty("java.runtime.version"))
        .setJavaHome(System.getProperty("java.home"))
        .addAllJvmFlags(ManagementFactory.getRuntimeMXBean().getInputArguments())
        .setHeapBytesMax(Runtime.getRuntime().maxMemory())
        .putAllDrivers(drivers.versions())
        .setNowMonoNs(System.nanoTime())
        .build();
  }
}
