package io.tidegauge.worker.engine.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ShortSleepTest {
  private final ShortSleep sleep = new ShortSleep();

  @Test
  void shortSleepsLastAsLongAsTheyShould() {
    assertEquals(Runtime.version().feature() >= 22, sleep.sleep(1));
    if (!sleep.sleep(1)) {
      return;
    }
    for (long ns : new long[] {1, 50_000, ShortSleep.NS_MAX}) {
      long before = System.nanoTime();
      assertTrue(sleep.sleep(ns));
      assertTrue(System.nanoTime() - before >= ns, () -> ns + " ns");
    }
  }

  @Test
  void longOnesAreLeftToWhoCanBeWoken() {
    assertFalse(sleep.sleep(ShortSleep.NS_MAX + 1));
    assertFalse(sleep.sleep(Long.MAX_VALUE));
  }
}
