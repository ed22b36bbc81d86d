import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import interop.client.ApiClient;
import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Calls every endpoint with the client that openapi-generator wrote, and prints one line for each: name, tab, what differs
 * from the JSON that was served.
 */
public final class Endpoints {
  private static URI asked;

  public static void main(String[] arguments) throws Exception {
    String key = arguments[1];
    Map<String, String> values = new HashMap<>(Map.of("brandId", arguments[2], "articleId", arguments[3], "brand", arguments[2]));
    values.putAll(Map.of("metric", "visibility", "metrics", "visibility", "dimension", "engine", "name", "filters"));
    ApiClient client = new ApiClient();
    client.setRequestInterceptor(request -> request.header("X-Api-Key", key));
    client.setResponseInterceptor(response -> asked = response.uri());
    String[] files = new File(arguments[4], "interop/client/api").list((folder, name) -> name.matches("\\w+Api\\.class"));
    Arrays.sort(files);
    for (String file : files) {
      // Snapshots are files.
      if (file.equals("ServerApi.class")) continue;
      // Data of the pages are not below the address of the API.
      client.updateBaseUri(file.equals("DataApi.class") ? arguments[0].replaceFirst("/v1$", "") : arguments[0]);
      Class<?> type = Class.forName("interop.client.api." + file.replace(".class", ""));
      Object api = type.getConstructor(ApiClient.class).newInstance(client);
      for (Method method : type.getDeclaredMethods()) {
        if (isCall(method)) {
          System.out.println(method.getName() + "\t" + call(client, api, method, values, key).replace('\n', ' '));
        }
      }
    }
  }

  private static boolean isCall(Method method) {
    Class<?>[] types = method.getParameterTypes();
    boolean hasHeaders = types.length > 0 && types[types.length - 1] == Map.class;
    return java.lang.reflect.Modifier.isPublic(method.getModifiers())
        && !method.getName().endsWith("WithHttpInfo")
        && !method.getName().equals("downloadFileFromResponse")
        && !hasHeaders;
  }

  private static String call(ApiClient client, Object api, Method method, Map<String, String> values, String key) throws Exception {
    Object[] given = Arrays.stream(method.getParameters()).map(parameter -> valueOf(parameter, values)).toArray();
    Object model;
    try {
      model = method.invoke(api, given);
    } catch (InvocationTargetException thrown) {
      return String.valueOf(thrown.getCause());
    }
    HttpRequest request = HttpRequest.newBuilder(asked).header("X-Api-Key", key).header("Accept", "application/json").build();
    String body = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
    ObjectMapper mapper = client.getObjectMapper();
    return difference(mapper.readTree(mapper.writeValueAsString(model)), mapper.readTree(body), "");
  }

  private static Object valueOf(Parameter parameter, Map<String, String> values) {
    String value = values.get(parameter.getName());
    if (value == null) return null;
    if (parameter.getType() == List.class) return List.of(value);
    return parameter.getType() == UUID.class ? UUID.fromString(value) : value;
  }

  /** Names the first place where the model lost or changed a value. Times may be written in another form. */
  private static String difference(JsonNode found, JsonNode expected, String path) {
    if (found == null) return expected.isNull() ? "" : path + " is missing";
    if (expected.isObject()) {
      for (Iterator<String> names = expected.fieldNames(); names.hasNext(); ) {
        String name = names.next();
        String told = difference(found.get(name), expected.get(name), path + "." + name);
        if (!told.isEmpty()) return told;
      }
      return "";
    }
    if (expected.isArray()) {
      if (found.size() != expected.size()) return path + " has other items";
      for (int index = 0; index < expected.size(); index++) {
        String told = difference(found.get(index), expected.get(index), path + "[" + index + "]");
        if (!told.isEmpty()) return told;
      }
      return "";
    }
    boolean isEqual =
        expected.isNumber() && found.isNumber()
            ? expected.asDouble() == found.asDouble()
            : prefix(found.asText()).equals(prefix(expected.asText()));
    return isEqual ? "" : path + " is " + found + " instead of " + expected;
  }

  private static String prefix(String text) {
    return text.matches("\\d{4}-\\d\\d-\\d\\dT.{9,}") ? text.substring(0, 16) : text;
  }
}
