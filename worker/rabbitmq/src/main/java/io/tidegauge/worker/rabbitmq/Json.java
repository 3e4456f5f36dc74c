package io.tidegauge.worker.rabbitmq;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import com.google.gson.ToNumberPolicy;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Parsed JSON as the types that are expected; what is of another type counts as absent. */
final class Json {
  private static final Gson GSON =
      new GsonBuilder()
          .setObjectToNumberStrategy(ToNumberPolicy.LONG_OR_DOUBLE)
          .serializeNulls()
          .create();

  private Json() {}

  /** Maps, lists, strings, numbers, booleans, null. */
  static Object read(String text) throws IOException {
    try {
      return GSON.fromJson(text, Object.class);
    } catch (JsonParseException e) {
      throw new IOException("its answer is no JSON: " + e.getMessage(), e);
    }
  }

  static String write(Map<String, Object> value) {
    return GSON.toJson(value);
  }

  static Map<String, Object> map(Object value) {
    Map<String, Object> typed = new TreeMap<>();
    if (value instanceof Map<?, ?> map) {
      map.forEach((key, item) -> typed.put(String.valueOf(key), item));
    }
    return typed;
  }

  static List<Map<String, Object>> maps(Object value) {
    List<Map<String, Object>> typed = new ArrayList<>();
    for (Object item : list(value)) {
      typed.add(map(item));
    }
    return typed;
  }

  static List<Object> list(Object value) {
    return value instanceof List<?> list ? new ArrayList<>(list) : List.of();
  }

  /** Items as text, sorted and joined with "+". */
  static String joined(Object value) {
    return String.join("+", list(value).stream().map(String::valueOf).sorted().toList());
  }

  /** Plain text of a value; objects as "key=value, key=value". */
  static String text(Object value) {
    if (value instanceof Map<?, ?>) {
      return String.join(
          ", ",
          map(value).entrySet().stream()
              .map(one -> one.getKey() + "=" + text(one.getValue()))
              .toList());
    }
    return value instanceof List<?> ? joined(value) : value == null ? "" : value.toString();
  }
}
