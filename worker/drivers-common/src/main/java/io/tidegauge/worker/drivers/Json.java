package io.tidegauge.worker.drivers;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import com.google.gson.Strictness;
import com.google.gson.ToNumberPolicy;
import io.tidegauge.worker.api.DriverException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Parsed JSON as the types that are expected; what is of another type counts as absent. */
public final class Json {
  private static final Gson GSON =
      new GsonBuilder()
          .setStrictness(Strictness.STRICT)
          .setObjectToNumberStrategy(ToNumberPolicy.LONG_OR_DOUBLE)
          .disableHtmlEscaping()
          .create();

  private Json() {}

  /** Maps, lists, strings, numbers (Long or Double), booleans, null. */
  public static Object read(String text) throws DriverException {
    try {
      if (!text.isBlank()) {
        return GSON.fromJson(text, Object.class);
      }
    } catch (JsonParseException e) {
      throw new DriverException("an answer is not JSON: " + text.strip(), e);
    }
    throw new DriverException("an answer is empty where JSON was expected");
  }

  /** The fields of an object in a text, sorted by name; empty if it is not an object. */
  public static Map<String, Object> readMap(String text) throws DriverException {
    return map(read(text));
  }

  /** Without the fields that have no value. */
  public static String write(Object value) {
    return GSON.toJson(value);
  }

  /** The fields of an object, sorted by name. */
  public static Map<String, Object> map(Object value) {
    Map<String, Object> typed = new TreeMap<>();
    if (value instanceof Map<?, ?> map) {
      map.forEach((key, item) -> typed.put(String.valueOf(key), item));
    }
    return typed;
  }

  public static List<Map<String, Object>> maps(Object value) {
    return list(value).stream().map(Json::map).toList();
  }

  public static List<Object> list(Object value) {
    return value instanceof List<?> list ? new ArrayList<>(list) : List.of();
  }
}
