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

/**
 * Whether a statement is finished: it ends with a semicolon that is part of no text, name or comment, but for blanks and
 * comments that follow.
 */
export function isFinished(sql: string): boolean {
  let last = '';
  for (let at = 0; at < sql.length; ) {
    const end = quotedEnd(sql, at);
    if (end === null) return false;
    if (end === at) {
      if (!/\s/.test(sql[at] as string)) last = sql[at] as string;
      at += 1;
    } else {
      if (!/^(--|\/\*)/.test(sql.slice(at, at + 2))) last = 'quoted';
      at = end;
    }
  }
  return last === ';';
}

// Where what is quoted at a place ends: the place itself where nothing is, null where the end is missing.
function quotedEnd(sql: string, at: number): number | null {
  const rest = sql.slice(at);
  const [opening] = /^(?:'|"|--|\/\*|\$\w*\$)/.exec(rest) ?? [];
  if (opening === undefined) return at;
  // A comment of one line ends with the text at the latest.
  if (opening === '--') {
    const end = sql.indexOf('\n', at);
    return end === -1 ? sql.length : end + 1;
  }
  const closing = opening === '/*' ? '*/' : opening;
  const end = sql.indexOf(closing, at + opening.length);
  return end === -1 ? null : end + closing.length;
}
