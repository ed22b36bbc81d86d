import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Timestamp;
import java.time.OffsetDateTime;
import java.util.Properties;

/** Prints figures of the replica as lines: name, tab, number. */
public final class JdbcFigures {
  public static void main(String[] arguments) throws Exception {
    Properties properties = new Properties();
    properties.setProperty("duckdb.read_only", "true");
    try (Connection connection = DriverManager.getConnection("jdbc:duckdb:" + arguments[0], properties)) {
      print("responses", number(connection, "SELECT count(*) FROM responses"));
      print("mentioned", number(connection, "SELECT count(*) FROM responses WHERE brand_mentioned"));
      print("positionSum", number(connection, "SELECT sum(brand_position) FROM responses"));
      print("citations", number(connection, "SELECT count(*) FROM response_citations"));
      print("citationPositionSum", number(connection, "SELECT sum(position) FROM response_citations"));
      print("sinceCut", since(connection, OffsetDateTime.parse(arguments[1])));
      print("firstMs", time(connection, "SELECT min(created_at) FROM responses").getTime());
      print("lastMs", time(connection, "SELECT max(created_at) FROM responses").getTime());
    }
  }

  private static void print(String name, long value) {
    System.out.println(name + "\t" + value);
  }

  private static long number(Connection connection, String sql) throws Exception {
    try (ResultSet rows = connection.createStatement().executeQuery(sql)) {
      rows.next();
      return rows.getBigDecimal(1).longValueExact();
    }
  }

  private static Timestamp time(Connection connection, String sql) throws Exception {
    try (ResultSet rows = connection.createStatement().executeQuery(sql)) {
      rows.next();
      return rows.getTimestamp(1);
    }
  }

  private static long since(Connection connection, OffsetDateTime cut) throws Exception {
    try (var statement = connection.prepareStatement("SELECT count(*) FROM responses WHERE created_at >= ?")) {
      statement.setObject(1, cut);
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        return rows.getLong(1);
      }
    }
  }
}
