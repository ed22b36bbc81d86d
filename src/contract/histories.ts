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
  /** Child tables whose rows are stored with each version. */
  readonly children: readonly ChildTable[];
}

/** Columns that only the history table has. */
export const VALID_FROM = 'valid_from';
export const VALID_TO = 'valid_to';
export const CHANGE = 'change';
export const CHILDREN = '_children';

/** Kinds of change whose rows are overwritten. Rows of other resources are kept as a series or never change. */
const overwritten: ReadonlySet<Change['kind']> = new Set(['set', 'walk', 'report']);

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
      return {
        name: `${table.name}_history`,
        about: `Versions of the rows of ${table.name}: one row for each version of each row.`,
        columns,
        key: [...table.key, VALID_FROM],
        time: undefined,
        of: table.name,
        kept,
        telling: kept.filter(({ name }) => !table.key.includes(name) && !ofTheWrite.has(name) && !incidental.has(name)),
        rowKey: table.key,
        present: [...(resource.scope === 'brand' ? derived.fixed.slice(0, 1) : []), ...required],
        children,
      };
    }),
  );
}

function column(name: string, kind: Column['kind'], about: string): Column {
  return { name, kind, about, source: { from: 'engine' } };
}
