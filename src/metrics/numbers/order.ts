/** A value by which rows are sorted; null sorts last in both directions. */
export type SortValue = string | number | boolean | null | undefined;

/** Suffix of a sort key that compares texts without regard to case. */
export const CASELESS = ':caseless';

/** Returns the name of a sort key without its direction and ending. */
export function sortKeyOf(key: string): string {
  return key.replace(/^-/, '').replace(CASELESS, '');
}

/**
 * Returns the rows sorted by the keys in order; a leading `-` sorts descending. Text is compared by code units; with `:caseless` in
 * lower case first. Rows that are equal in all keys keep their order.
 */
export function sortedBy<Row>(
  rows: readonly Row[],
  keys: readonly string[],
  sortValueOf: (row: Row, key: string) => SortValue,
): Row[] {
  const order = keys.flatMap((key) => {
    const name = sortKeyOf(key);
    const term = { name, sign: key.startsWith('-') ? -1 : 1 };
    return key.endsWith(CASELESS)
      ? [
          { ...term, isLower: true },
          { ...term, isLower: false },
        ]
      : [{ ...term, isLower: false }];
  });
  const keyed = rows.map((row) => ({
    row,
    values: order.map(({ name, isLower }) => {
      const value = sortValueOf(row, name) ?? null;
      return isLower && typeof value === 'string' ? value.toLowerCase() : value;
    }),
  }));
  const signs = order.map(({ sign }) => sign);
  keyed.sort((a, b) => {
    for (let index = 0; index < signs.length; index++) {
      const compared = compare(a.values[index], b.values[index], signs[index] as number);
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
    .flatMap((key) => {
      const expression = expressions[sortKeyOf(key)];
      if (expression === undefined) throw new TypeError(`no expression for the sort key ${key}`);
      const terms = key.endsWith(CASELESS) ? [`lower(${expression})`, expression] : [expression];
      return terms.map((term) => `${term} ${key.startsWith('-') ? 'DESC' : 'ASC'} NULLS LAST`);
    })
    .join(', ');
}
