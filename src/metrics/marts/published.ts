import type { Column } from '../../contract/tables.ts';
import { type ExportedTable, REPLICA } from '../../publish/snapshot/exported-table.ts';
import { MART_SCHEMA, type Mart, marts, tablesIn } from './marts.ts';

/** Which marts snapshots contain: none, the dimensions and facts, or all. */
export type PublishedMarts = 'none' | 'star' | 'all';

/** Prefixes of the dimensions and facts. */
const STAR = ['dim_', 'fct_'];

/** Column kinds of the SQL types of marts. */
const kinds: Readonly<Record<string, Column['kind']>> = {
  UUID: 'uuid',
  VARCHAR: 'text',
  JSON: 'json',
  BIGINT: 'integer',
  DOUBLE: 'number',
  BOOLEAN: 'boolean',
  TIMESTAMPTZ: 'timestamp',
  DATE: 'day',
};

/** Returns the marts that snapshots contain, and those with names in `always`, as tables named like the marts. */
export function publishedMarts(which: PublishedMarts, always: readonly string[] = []): ExportedTable[] {
  const isChosen = (name: string): boolean =>
    which === 'all' || (which === 'star' && STAR.some((prefix) => name.startsWith(prefix)));
  const all = marts();
  return all
    .filter(({ name }) => isChosen(name) || always.includes(name))
    .map((mart) => ({ ...exported(mart), reads: mart.time === undefined ? null : tablesIn(mart, all) }));
}

function exported({ name, about, columns, key, time }: Mart): ExportedTable {
  return {
    name,
    about,
    key,
    time,
    kind: 'mart',
    source: `${REPLICA}.${MART_SCHEMA}.${name}`,
    columns: columns.map((column) => {
      const kind = kinds[column.type];
      if (kind === undefined) throw new TypeError(`${name}: no column kind for the type ${column.type}`);
      return { name: column.name, kind, about: column.about };
    }),
  };
}
