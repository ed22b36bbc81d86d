import { literal, quoted } from '../../warehouse/schema.ts';
import type { ExportedTable } from '../snapshot/exported-table.ts';
import { type Attachment, tableAt } from './kinds.ts';

/** A table to load: its columns, key and rows. */
export type LoadTable = Pick<ExportedTable, 'name' | 'about' | 'key' | 'columns' | 'kind'> & {
  /** Column with the time of the rows. Each day is compared separately. */
  readonly time?: string | undefined;
  /** SQL of the rows in the attached replica. */
  readonly source: string;
  /** Whether all workspaces have one table, also if each of them has a schema of its own. */
  readonly isShared?: boolean;
};

/** Columns that every loaded table begins with: the workspace, and the identity and the contents of the row. */
export const OWN_COLUMNS = { workspace: 'name', _key: 'uuid', _hash: 'integer' } as const;
/** Key of every loaded table, in a destination with keys. */
export const KEY = ['workspace', '_key'];
/** Names that columns of a destination cannot have: `OWN_COLUMNS`, and the hidden columns of databases. */
const RESERVED = [...Object.keys(OWN_COLUMNS), 'rowid', 'oid', 'ctid', 'tableoid', 'xmin', 'xmax', 'cmin', 'cmax'];

/** A table with the names that its columns have in a destination. */
export interface DestinationTable extends LoadTable {
  readonly schema: string;
  /** Schema and name, which contains no dot. */
  readonly id: string;
  /** SQL of its name. */
  readonly at: string;
  /** SQL of the source's rows with these names. */
  readonly rows: string;
  /** Whether the rows are stored before they are read: a view may return another of several equal values the next time. */
  readonly isStored: boolean;
}

/** Returns a table as a destination has it. */
export function toDestination(table: LoadTable, { schema: shared }: Attachment, ownSchema: string): DestinationTable {
  const schema = table.isShared === true ? shared : ownSchema;
  const names = new Map<string, string>();
  const taken = new Set([...RESERVED, ...table.columns.map(({ name }) => name)]);
  for (const { name } of table.columns) {
    let own = name;
    if (RESERVED.includes(name)) while (taken.has(own)) own += '_';
    taken.add(own);
    names.set(name, own);
  }
  const nameOf = (name: string): string => names.get(name) ?? name;
  const isRenamed = [...names].some(([name, own]) => name !== own);
  const selected = [...names].map(([name, own]) => `${quoted(name)} AS ${quoted(own)}`).join(', ');
  return {
    ...table,
    schema,
    id: idOf(schema, table.name),
    at: tableAt(schema, table.name),
    key: table.key.map(nameOf),
    time: table.time === undefined ? undefined : nameOf(table.time),
    columns: table.columns.map((column) => ({ ...column, name: nameOf(column.name) })),
    rows: isRenamed ? `(SELECT ${selected} FROM ${table.source})` : table.source,
    isStored: table.kind === 'mart' || isRenamed,
  };
}

/** Returns the identity of a table in a destination. */
export function idOf(schema: string, name: string): string {
  return `${schema}.${name}`;
}

/**
 * Returns SQL of 128 bits that identify a row. Null values of the key are omitted. Texts are prefixed with their length, because they may
 * contain the separators. Times are written as numbers, because DuckDB formats them slowly.
 */
export function keyOf({ key, columns }: LoadTable): string {
  const parts = key.map((name) => {
    const column = quoted(name);
    const kind = columns.find((one) => one.name === name)?.kind;
    const isText = kind === 'text' || kind === 'json';
    const value = isText
      ? `strlen(${column}) || ':' || ${column}`
      : kind === 'timestamp'
        ? `epoch_us(${column})`
        : column;
    return `${literal(`${name}=`)} || ${value}`;
  });
  return `CAST(md5(concat_ws(',', ${parts.join(', ')})) AS UUID)`;
}

/**
 * Returns SQL of 63 bits that change with the contents of a row. Null values are omitted, so that a new column changes only the rows with
 * a value in it. The hashes are combined by exclusive or. Each is hashed again with the name of its column, so that equal values of two
 * columns do not cancel each other out.
 */
export function hashOf({ columns }: LoadTable): string {
  const parts = columns.map(
    ({ name }) =>
      `CASE WHEN ${quoted(name)} IS NULL THEN 0::UBIGINT ELSE hash(hash(${literal(name)}, ${quoted(name)})) END`,
  );
  const combined = parts.reduce((sum, part) => `xor(${sum}, ${part})`);
  return `CAST((${combined}) >> 1 AS BIGINT)`;
}
