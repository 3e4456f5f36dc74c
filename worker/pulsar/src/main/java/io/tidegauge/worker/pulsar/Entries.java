package io.tidegauge.worker.pulsar;

import io.tidegauge.worker.api.DriverException;
import io.tidegauge.worker.drivers.HttpApi;

/**
 * What a broker says of single entries. To a reader it says nothing of one that it can't read, such
 * as one whose digest does not match on any bookie: it tries again for ever.
 */
final class Entries {
  private static final int SERVER_ERROR = 500;

  /** An entry behind the last one is not there yet. */
  private static final String BEHIND_LAST = "LastConfirmedEntry";

  private final AdminRest rest;

  Entries(AdminRest rest) {
    this.rest = rest;
  }

  /** Why the broker can't read an entry that is there; empty if it can, or there is none. */
  String refusal(String fullName, long ledger, long entry) throws DriverException {
    String path = fullName.replaceFirst("://", "/") + "/ledger/" + ledger + "/entry/" + entry;
    HttpApi.Answer answer = rest.call("GET", path, null);
    if (answer.status() < SERVER_ERROR || answer.body().contains(BEHIND_LAST)) {
      return "";
    }
    return "Pulsar could not read ledger "
        + ledger
        + " entry "
        + entry
        + ": "
        + AdminRest.messageOf(answer);
  }
}
