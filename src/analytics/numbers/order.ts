/** A value by which rows are sorted; null sorts last in both directions. */
export type SortValue = string | number | boolean | null | undefined;

/**
 * Returns the rows sorted by the keys in order; a leading `-` sorts descending. Text is compared by code units. Rows that
 * are equal in all keys keep their order.
 */
export function sortedBy<Row>(
  rows: readonly Row[],
  keys: readonly string[],
  sortValueOf: (row: Row, key: string) => SortValue,
): Row[] {
  const order = keys.map((key) => ({ key: key.replace(/^-/, ''), sign: key.startsWith('-') ? -1 : 1 }));
  const keyed = rows.map((row) => ({ row, values: order.map(({ key }) => sortValueOf(row, key) ?? null) }));
  keyed.sort((a, b) => {
    for (const [index, { sign }] of order.entries()) {
      const compared = compare(a.values[index], b.values[index], sign);
      if (compared !== 0) return compared;
    }
    return 0;
  });
  return keyed.map(({ row }) => row);
}

function compare(a: SortValue, b: SortValue, sign: number): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return a < b ? -sign : sign;
}

/**
 * Returns the ORDER BY terms of the keys, with nulls last.
 * @throws TypeError for a key without an expression
 */
export function orderTerms(keys: readonly string[], expressions: Readonly<Record<string, string>>): string {
  return keys
    .map((key) => {
      const expression = expressions[key.replace(/^-/, '')];
      if (expression === undefined) throw new TypeError(`no expression for the sort key ${key}`);
      return `${expression} ${key.startsWith('-') ? 'DESC' : 'ASC'} NULLS LAST`;
    })
    .join(', ');
}
