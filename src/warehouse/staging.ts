import { toExactJson } from '../base/json.ts';
import type { Column } from '../contract/tables.ts';
import { literal, quoted, sqlTypes } from './schema.ts';

/**
 * Rows travel to DuckDB as a list of JSON texts, one a row, and are cast to the columns' types there. Measured against
 * one large JSON text and against appending value by value, this is the fastest that leaves the event loop free.
 */
export function stage(rows: readonly Readonly<Record<string, unknown>>[]): string[] {
  return rows.map((row) => wellFormed(toExactJson(row)));
}

/** SQL of a subquery whose rows are those of list parameter `$index`, with these columns. */
export function staged(columns: readonly Pick<Column, 'name' | 'kind'>[], list: string): string {
  const types = Object.fromEntries(columns.map(({ name, kind }) => [name, sqlTypes[kind]]));
  return `(SELECT unnest(item) FROM (SELECT from_json(text, ${literal(JSON.stringify(types))}) AS item
    FROM (SELECT unnest(${list}) AS text)))`;
}

/** SQL condition that two rows have the same key; nulls are equal to each other. */
export function sameKey(left: string, right: string, key: readonly string[]): string {
  return key.map((name) => `${left}.${quoted(name)} IS NOT DISTINCT FROM ${right}.${quoted(name)}`).join(' AND ');
}

// JSON.stringify escapes exactly those halves of surrogate pairs that stand alone.
/** JSON text without halves of surrogate pairs, which have no UTF-8 form. */
export function wellFormed(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replace(
    /(\\\\)|\\ud[89a-f][0-9a-f]{2}/g,
    (_match, backslash: string | undefined) => backslash ?? '\\ufffd',
  );
}
