package io.tidegauge.worker.drivers;

import io.tidegauge.worker.api.AccessException;
import io.tidegauge.worker.api.Driver;
import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.api.EffectiveSetting;
import java.util.ArrayList;
import java.util.List;

/** Settings in the order in which they were found. */
public final class FoundSettings {
  /** A part of what is read, for which a right may be missing. */
  public interface Part {
    void read() throws DriverException;
  }

  private final List<EffectiveSetting> all = new ArrayList<>();

  /** Adds a setting of which it is not known whether it is the default; null is shown as "". */
  public FoundSettings add(String scope, String name, Object value) {
    all.add(new EffectiveSetting(scope, name, value == null ? "" : value.toString(), null));
    return this;
  }

  /** Adds a setting beside what the client's own library would have taken for it. */
  public FoundSettings add(String scope, String name, Object value, Object standard) {
    String text = value.toString();
    boolean isDefault = text.equals(standard.toString());
    all.add(
        new EffectiveSetting(scope, name, text, isDefault, isDefault ? null : standard.toString()));
    return this;
  }

  public void add(EffectiveSetting setting) {
    all.add(setting);
  }

  /**
   * Reads a part, which adds what it finds.
   *
   * @param name of the setting that says what is unknown if the right to read it is missing
   * @param what is unknown then: "the list of brokers"
   * @return whether it was read
   */
  public boolean readOrMarkUnknown(String scope, String name, String what, Part part)
      throws DriverException {
    try {
      part.read();
      return true;
    } catch (AccessException e) {
      if (!e.isMissingRight()) {
        throw e;
      }
      add(scope, name, Driver.UNKNOWN_NO_RIGHT + what);
      return false;
    }
  }

  public List<EffectiveSetting> all() {
    return List.copyOf(all);
  }
}
