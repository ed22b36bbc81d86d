import type { Change, ResourceDeclaration } from './resource.ts';
import { type ChildTable, type Column, columnOf, type ResourceTable } from './tables.ts';

/** History table: one row for each version of each row of its table. */
export interface HistoryTable {
  readonly name: string;
  readonly about: string;
  readonly columns: readonly Column[];
  readonly key: readonly string[];
  readonly time: undefined;
  /** Name of the table whose rows are versioned. */
  readonly of: string;
  /** Columns copied from that table, including its key and engine columns. */
  readonly kept: readonly Column[];
  /** Columns of `kept` in which a difference creates a new version. */
  readonly telling: readonly Column[];
  /** Key columns of that table. */
  readonly rowKey: readonly string[];
  /** Columns of `rowKey` that are never null. */
  readonly present: readonly string[];
  /**
   * Column with the time of a row, which the row's list writes to the row and to its child tables in one page. Undefined
   * if rows have no time or a detail overwrites it.
   */
  readonly rowTime: string | undefined;
  /** Child tables whose rows are stored with each version. */
  readonly children: readonly ChildTable[];
  /** Whether only changed rows have versions. A row without versions was never overwritten; its table has its only version. */
  readonly isSparse: boolean;
}

/** Columns that only the history table has. */
export const VALID_FROM = 'valid_from';
export const VALID_TO = 'valid_to';
export const CHANGE = 'change';
export const CHILDREN = '_children';

/** Kinds of change that overwrite rows. A series keeps its rows, and a detail writes the rows of its list. */
const overwritten: ReadonlySet<Change['kind']> = new Set(['set', 'walk', 'report', 'window']);
/** Kinds of change with too many rows to store each of them twice. */
const sparse: ReadonlySet<Change['kind']> = new Set(['window']);

/** Engine columns that describe a version; the other engine columns describe the current row. */
const ofVersions = new Set(['_run_id', '_row_hash', '_extra', '_detail_hash', '_detail_extra']);
/** Engine columns that can differ between writes even if upstream sent the same item. */
const ofTheWrite = new Set(['_run_id', '_row_hash', '_detail_hash']);

const periods: readonly Column[] = [
  column(
    VALID_FROM,
    'timestamp',
    "Start of the version (UTC): upstream's time of the first response with these values.",
  ),
  column(VALID_TO, 'timestamp', 'End of the version (UTC), exclusive; null for the current version.'),
  column(
    CHANGE,
    'text',
    '`inserted`, `updated`, `restored`, or `deleted` (the version begins when the row was found missing).',
  ),
];

/**
 * Derives the histories of all tables whose rows are overwritten by later responses.
 * @throws TypeError if a table is unknown or has a column with the name of a history column
 */
export function historyTables(
  resources: readonly (ResourceDeclaration & { readonly derived: readonly ResourceTable[] })[],
  tables: readonly Pick<HistoryTable, 'name' | 'columns' | 'key'>[],
): HistoryTable[] {
  const lists = resources.filter(({ change }) => overwritten.has(change.kind));
  return lists.flatMap((resource) =>
    resource.derived.map((derived): HistoryTable => {
      const table = tables.find(({ name }) => name === derived.name);
      if (table === undefined) throw new TypeError(`no table ${derived.name}`);
      const parts = resources
        .filter(({ change }) => change.kind === 'detail' && change.of === resource.name)
        .flatMap((detail) => detail.derived.filter(({ name }) => name === derived.name));
      const incidental = new Set(
        [derived, ...parts].flatMap(({ declaration: { incidental = [], fields } }) =>
          incidental.map((field) => columnOf(fields, field)),
        ),
      );
      const nullable = (derived.declaration.nullableKey ?? []).map((field) =>
        columnOf(derived.declaration.fields, field),
      );
      const required = table.key.filter((name) => !nullable.includes(name) && !derived.fixed.includes(name));
      const children = [derived, ...parts].flatMap((part) => part.children);
      const kept = table.columns.filter(({ name, source }) => source.from !== 'engine' || ofVersions.has(name));
      const nested = column(CHILDREN, 'json', `Rows of ${children.map(({ name }) => name).join(' and ')}, in order.`);
      const columns = [...periods, ...kept, ...(children.length === 0 ? [] : [nested])];
      if (new Set(columns.map(({ name }) => name)).size < columns.length)
        throw new TypeError(`table ${table.name} has a column whose name is reserved for its history`);
      const isSparse = sparse.has(resource.change.kind);
      const { extent } = derived;
      const isOverwritten = parts.some(
        ({ columns: own }) => extent.kind === 'time' && own.some(({ name }) => name === extent.field),
      );
      return {
        name: `${table.name}_history`,
        about: isSparse
          ? `Versions of the changed rows of ${table.name}: one row for each version. Rows that never changed have none.`
          : `Versions of the rows of ${table.name}: one row for each version of each row.`,
        columns,
        key: [...table.key, VALID_FROM],
        time: undefined,
        of: table.name,
        kept,
        telling: kept.filter(({ name }) => !table.key.includes(name) && !ofTheWrite.has(name) && !incidental.has(name)),
        rowKey: table.key,
        present: [...(resource.scope === 'brand' ? derived.fixed.slice(0, 1) : []), ...required],
        rowTime: extent.kind === 'time' && !isOverwritten ? extent.field : undefined,
        children,
        isSparse,
      };
    }),
  );
}

function column(name: string, kind: Column['kind'], about: string): Column {
  return { name, kind, about, source: { from: 'engine' } };
}
