import type { Change, ResourceDeclaration } from './resource.ts';
import { type ChildTable, type Column, columnOf, type ResourceTable } from './tables.ts';

/** The history of a table: a row for each state that one of its rows was in. */
export interface HistoryTable {
  readonly name: string;
  readonly about: string;
  readonly columns: readonly Column[];
  readonly key: readonly string[];
  readonly time: undefined;
  /** The table whose rows' states these are. */
  readonly of: string;
  /** Columns taken from that table, its key and the engine's own included. */
  readonly kept: readonly Column[];
  /** Those of them in which a difference makes a new version. */
  readonly telling: readonly Column[];
  /** Columns of that table's key. */
  readonly rowKey: readonly string[];
  /** Those of them that are never null. */
  readonly present: readonly string[];
  /** Nested arrays that are kept with each version. */
  readonly children: readonly ChildTable[];
}

/** The columns of a history that its table lacks. */
export const VALID_FROM = 'valid_from';
export const VALID_TO = 'valid_to';
export const CHANGE = 'change';
export const CHILDREN = '_children';

/** How resources change whose rows are overwritten; the others keep what was, or hold what does not change. */
const overwritten: ReadonlySet<Change['kind']> = new Set(['set', 'walk', 'report']);

/** Of the engine's columns, those that say something of a version; the others are about the row as it stands now. */
const ofVersions = new Set(['_run_id', '_row_hash', '_extra', '_detail_hash', '_detail_extra']);
/** Those in which a version differs from the one before even if upstream sent the same. */
const ofTheWrite = new Set(['_run_id', '_row_hash', '_detail_hash']);

const periods: readonly Column[] = [
  column(VALID_FROM, 'timestamp', "Since when the row was so (UTC, upstream's time of the answer that first said so)."),
  column(VALID_TO, 'timestamp', 'Until when it was so, this moment excluded; null while it still is.'),
  column(
    CHANGE,
    'text',
    '`inserted`, `updated`, `restored`, or `deleted`: the moment at which the row was found gone.',
  ),
];

/** The histories of all tables whose rows are overwritten by later answers; throws a TypeError when a name is taken. */
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
        throw new TypeError(`table ${table.name} has a column that its history needs for itself`);
      return {
        name: `${table.name}_history`,
        about: `What rows of ${table.name} were, and when: a row for each version of each.`,
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
