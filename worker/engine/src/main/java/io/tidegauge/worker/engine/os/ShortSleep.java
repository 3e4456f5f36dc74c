package io.tidegauge.worker.engine.os;

import java.lang.invoke.MethodHandle;
import java.lang.reflect.Array;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;

/**
 * Short sleeps of one thread by the C library's {@code nanosleep}. Parking takes a fifth more CPU
 * for each: it goes through a mutex and a condition, so that another thread can end it. Nobody can
 * end these.
 *
 * <p>Java calls C without native code of ours from version 22 on ({@code java.lang.foreign}). The
 * worker is compiled for older ones, hence the reflection; the call itself has none.
 */
public final class ShortSleep {
  /** Longer than this nobody should wait for a thread that can't be woken. */
  public static final long NS_MAX = 1_000_000;

  /** {@code int nanosleep(long request, long remaining)}; null where Java can't call it. */
  private static final MethodHandle NANOSLEEP = find();

  /** A {@code timespec}: seconds, which stay 0, and nanoseconds. */
  private final ByteBuffer request = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder());

  private final long address = NANOSLEEP == null ? 0 : addressOf(request);

  /**
   * Sleeps, or returns false at once: where Java can't do it this way, or for longer than {@link
   * #NS_MAX}. May end early.
   */
  public boolean sleep(long ns) {
    if (address == 0 || ns > NS_MAX) {
      return false;
    }
    request.putLong(8, ns);
    try {
      int unusedResult = (int) NANOSLEEP.invokeExact(address, 0L);
      return true;
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  private static MethodHandle find() {
    try {
      Class<?> linkers = Class.forName("java.lang.foreign.Linker");
      Class<?> options = Class.forName("java.lang.foreign.Linker$Option");
      Class<?> segments = Class.forName("java.lang.foreign.MemorySegment");
      Class<?> layouts = Class.forName("java.lang.foreign.MemoryLayout");
      Class<?> values = Class.forName("java.lang.foreign.ValueLayout");
      Class<?> functions = Class.forName("java.lang.foreign.FunctionDescriptor");
      Class<?> lookups = Class.forName("java.lang.foreign.SymbolLookup");
      Object linker = linkers.getMethod("nativeLinker").invoke(null);
      Object lookup = linkers.getMethod("defaultLookup").invoke(linker);
      Object symbol =
          ((Optional<?>) lookups.getMethod("find", String.class).invoke(lookup, "nanosleep"))
              .orElseThrow();
      Object longValue = values.getField("JAVA_LONG").get(null);
      Object arguments = Array.newInstance(layouts, 2);
      Array.set(arguments, 0, longValue);
      Array.set(arguments, 1, longValue);
      Object function =
          functions
              .getMethod("of", layouts, arguments.getClass())
              .invoke(null, values.getField("JAVA_INT").get(null), arguments);
      Object none = Array.newInstance(options, 0);
      return (MethodHandle)
          linkers
              .getMethod("downcallHandle", segments, functions, none.getClass())
              .invoke(linker, symbol, function, none);
    } catch (ReflectiveOperationException | RuntimeException e) {
      return null; // Java before 22, or one that may not call C.
    }
  }

  private static long addressOf(ByteBuffer buffer) {
    try {
      Class<?> segments = Class.forName("java.lang.foreign.MemorySegment");
      Object segment = segments.getMethod("ofBuffer", Buffer.class).invoke(null, buffer);
      return (long) segments.getMethod("address").invoke(segment);
    } catch (ReflectiveOperationException e) {
      return 0;
    }
  }
}
