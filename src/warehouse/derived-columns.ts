import { type Column, pointerOfColumn, WHOLE_ITEM } from '../contract/tables.ts';
import { literal, quoted, sqlTypes } from './schema.ts';

/** SQL of the columns that are derived from the stored items. */
export interface Derivation {
  /** Returns a subquery with the rows of `source`, and with their values for `value`. */
  over(source: string): string;
  /** SQL of the value of a derived column in a row of the subquery. */
  value(column: Column, alias: string): string;
}

/** Returns the SQL of the derived columns among `columns`. An item is parsed twice, however many columns there are. */
export function derivationOf(columns: readonly Column[]): Derivation {
  const derived = columns.filter((column) => pointerOfColumn(column) !== null);
  const texts = derived.filter(({ kind }) => kind !== 'json');
  const values = derived.filter(({ kind }) => kind === 'json');
  const listOf = (some: readonly Column[]): string =>
    `[${some.map((one) => literal(pointerOfColumn(one) ?? '')).join(', ')}]`;
  const item = quoted(WHOLE_ITEM);
  return {
    over: (source) => {
      if (derived.length === 0) return source;
      // Texts have all digits of a number.
      const lists = [
        ...(texts.length === 0 ? [] : [`json_extract_string(${item}, ${listOf(texts)}) AS "_texts"`]),
        ...(values.length === 0 ? [] : [`json_extract(${item}, ${listOf(values)}) AS "_values"`]),
      ];
      return `(SELECT *, ${lists.join(', ')} FROM ${source})`;
    },
    value: (column, alias) => {
      if (column.kind === 'json')
        return `CAST(nullif(CAST(${alias}."_values"[${values.indexOf(column) + 1}] AS VARCHAR), 'null') AS JSON)`;
      const text = `${alias}."_texts"[${texts.indexOf(column) + 1}]`;
      return column.kind === 'text' ? text : `TRY_CAST(${text} AS ${sqlTypes[column.kind]})`;
    },
  };
}
