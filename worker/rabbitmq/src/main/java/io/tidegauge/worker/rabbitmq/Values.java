package io.tidegauge.worker.rabbitmq;

/** Reads values of settings. */
final class Values {
  private Values() {}

  /** A queue argument: the server insists on the right type. */
  static Object argument(String value) {
    if (value.matches("-?\\d{1,18}")) {
      return Long.parseLong(value);
    }
    return value.equals("true") || value.equals("false") ? (Object) Boolean.valueOf(value) : value;
  }
}
