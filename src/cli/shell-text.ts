/** Words of SQL that are completed beside the names of tables and columns. */
const KEYWORDS =
  'SELECT FROM WHERE GROUP ORDER BY HAVING LIMIT JOIN LEFT USING ON WITH AS DISTINCT UNION ALL AND OR NOT NULL CASE WHEN THEN ELSE END BETWEEN LIKE ILIKE OVER PARTITION QUALIFY FILTER DESCRIBE SUMMARIZE count sum avg min max date_trunc'.split(
    ' ',
  );

/**
 * Makes what completes the last word of a line: names of tables, with or without their schema, of columns, and words of
 * SQL; upper and lower case count alike. It returns the words that fit and the part of the line they stand for.
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
