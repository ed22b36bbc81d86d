/** SQL keywords that are completed in addition to the names of tables and columns. */
const KEYWORDS =
  'SELECT FROM WHERE GROUP ORDER BY HAVING LIMIT JOIN LEFT USING ON WITH AS DISTINCT UNION ALL AND OR NOT NULL CASE WHEN THEN ELSE END BETWEEN LIKE ILIKE OVER PARTITION QUALIFY FILTER DESCRIBE SUMMARIZE count sum avg min max date_trunc'.split(
    ' ',
  );

/**
 * Creates a completer for the last word of a line: table names with or without schema, column names and SQL keywords, ignoring
 * case. The completer returns the matching words and the part of the line that they replace.
 */
export function createCompleter(
  tables: readonly string[],
  columns: readonly string[],
): (line: string) => [string[], string] {
  const words = [...new Set([...tables, ...columns, ...KEYWORDS])].sort();
  return (line) => {
    const typed = /[\w.]*$/.exec(line)?.[0] ?? '';
    if (typed === '') return [[], typed];
    const start = typed.toLowerCase();
    return [words.filter((word) => word.toLowerCase().startsWith(start)), typed];
  };
}
