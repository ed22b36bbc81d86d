import { type ColumnKind, type Fields, metaOf } from './fields.ts';
import { type Extent, isListChange, type ResourceDeclaration, type TableDeclaration } from './resource.ts';

/** Source of a column's value. */
export type Source =
  /** The item's field at this path. With `pointer`, the warehouse derives the value from the stored item. */
  | { readonly from: 'item'; readonly path: readonly string[]; readonly pointer?: string }
  /** The body's field at this path, outside the list. */
  | { readonly from: 'body'; readonly path: readonly string[] }
  /** A value set by the request: brand, range, row mode. */
  | { readonly from: 'request' }
  /** The content of the item, for rows without other identification. */
  | { readonly from: 'content' }
  /** A column of the parent row. */
  | { readonly from: 'parent'; readonly column: string }
  /** Index of the item in the parent's array, starting at 0. */
  | { readonly from: 'ordinal' }
  /** Written by the sync engine: provenance, hash, tombstone. */
  | { readonly from: 'engine' };

/** A column of a warehouse table. */
export interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
  readonly about: string;
  readonly source: Source;
}

/** The table of a nested array. */
export interface ChildTable {
  readonly name: string;
  readonly about: string;
  /** Field of the item with the array. */
  readonly field: string;
  readonly fields: Fields;
  readonly columns: readonly Column[];
  /** Columns with the parent's key, in the order of the parent's `key`. */
  readonly parentKey: readonly string[];
  readonly key: readonly string[];
}

/** A table that one resource fills. */
export interface ResourceTable {
  readonly declaration: TableDeclaration;
  readonly name: string;
  readonly about: string;
  /** Columns filled from a response, in order; excludes `engineColumns`. */
  readonly columns: readonly Column[];
  /** Columns that identify a row, including scope and range. */
  readonly key: readonly string[];
  /** Columns set by the request for all rows of one response. */
  readonly fixed: readonly string[];
  /** The declared extent, with the column name instead of the field name. */
  readonly extent: Extent;
  readonly children: readonly ChildTable[];
}

/** Columns of every row. `_synced_at` is upstream's time, from the Date header. */
export const engineColumns: readonly Column[] = [
  engine('_synced_at', 'timestamp', 'When upstream sent this version of the row (UTC, from the Date header).'),
  engine('_run_id', 'uuid', 'The sync run that wrote this version of the row.'),
  engine('_row_hash', 'text', 'Hash of the item; equal hashes mean that nothing changed.'),
  engine('_deleted_at', 'timestamp', 'When a sync first found the row missing upstream; null while upstream lists it.'),
  engine(
    '_extra',
    'json',
    'Fields that upstream sent but the API specification does not list, as JSON with sorted members.',
  ),
];

/** Column with the item as upstream sent it. */
export const WHOLE_ITEM = '_item';

/** Column with the detail of an item as upstream sent it. */
export const DETAIL_ITEM = '_detail_item';

const itemColumn: Column = engine(WHOLE_ITEM, 'text', 'The item as upstream sent it, as JSON text.');

/** Engine columns that a detail resource adds to its list's table. */
export const detailColumns: readonly Column[] = [
  engine(DETAIL_ITEM, 'text', 'The detail as upstream sent it, as JSON text; null until it is read.'),
  engine('_detail_synced_at', 'timestamp', 'When upstream sent this version of the detail (UTC).'),
  engine('_detail_hash', 'text', 'Hash of the detail; null until it is read.'),
  engine(
    '_detail_extra',
    'json',
    'Fields of the detail that the API specification does not list, as JSON with sorted members.',
  ),
];

/** Returns the engine columns of a table, with the item unless its declaration has a field for it. */
export function engineColumnsOf({ declaration }: Pick<ResourceTable, 'declaration'>): readonly Column[] {
  return declaration.whole === undefined ? [...engineColumns, itemColumn] : engineColumns;
}

/** Time column of a singleton's series. */
export const OBSERVED_AT = 'observed_at';

/** Key column of rows that are identified by their content. */
export const CONTENT_KEY = '_content_key';

const contentKey: Column = {
  name: CONTENT_KEY,
  kind: 'text',
  about:
    'Hash of the item or of its identifying fields, with a number if the list has equal ones, or `object` for the only one; identifies the row.',
  source: { from: 'content' },
};

/** Returns the JSON pointer from which the warehouse derives a column; null if responses fill it. */
export function pointerOfColumn({ source }: Column): string | null {
  return source.from === 'item' ? (source.pointer ?? null) : null;
}

/** Whether a column has JSON text of items. Snapshots and exports do not have these engine columns. */
export function isItemText({ name, source }: Column): boolean {
  return source.from === 'engine' && (name === WHOLE_ITEM || name === DETAIL_ITEM);
}

/** Returns the column with the item as upstream sent it, of the rows that a resource writes. */
export function itemColumnOf({ change }: Pick<ResourceDeclaration, 'change'>, table: ResourceTable): string {
  const { whole, fields } = table.declaration;
  if (whole !== undefined) return columnOf(fields, whole);
  return change.kind === 'detail' ? DETAIL_ITEM : WHOLE_ITEM;
}

/** Whether the rows of a table are identified by their content. */
export function hasContentKey({ key }: Pick<ResourceTable, 'key'>): boolean {
  return key.includes(CONTENT_KEY);
}

/** Derives the tables of one resource from its declaration. */
export function deriveTables(resource: ResourceDeclaration): ResourceTable[] {
  return resource.tables.map((declaration) => deriveTable(resource, declaration));
}

function deriveTable(resource: ResourceDeclaration, declaration: TableDeclaration): ResourceTable {
  const fixed = fixedColumns(resource, declaration);
  const isByContent = declaration.key.length === 0 && isByContentIn(resource, declaration);
  const keyColumns = isByContent ? [CONTENT_KEY] : declaration.key.map((key) => columnOf(declaration.fields, key));
  const columns = [
    ...fixed,
    ...(isByContent ? [contentKey] : []),
    ...(resource.change.kind === 'value'
      ? [engine(OBSERVED_AT, 'timestamp', 'When these values were first seen (UTC).')]
      : []),
    ...fieldColumns(declaration.fields, 'item', [], ''),
    ...fieldColumns(declaration.beside ?? {}, 'body', [], ''),
  ];
  const identifying = resource.change.kind === 'value' ? [OBSERVED_AT] : keyColumns;
  const key = [...new Set([...fixed.map((column) => column.name), ...identifying])];
  return {
    declaration,
    name: declaration.name,
    about: declaration.about,
    columns,
    key,
    fixed: fixed.map((column) => column.name),
    extent: toColumnExtent(declaration),
    children: childTables(declaration, columns, fixed, keyColumns),
  };
}

// Objects of other endpoints than lists are identified by their request alone.
function isByContentIn({ change }: ResourceDeclaration, { at }: TableDeclaration): boolean {
  return isListChange(change) || (change.kind !== 'value' && at !== 'body');
}

function fixedColumns(resource: ResourceDeclaration, declaration: TableDeclaration): Column[] {
  const request = (name: string, kind: ColumnKind, about: string): Column => ({
    name,
    kind,
    about,
    source: { from: 'request' },
  });
  const columns: Column[] = [];
  if (resource.scope === 'brand') columns.push(request('brand_id', 'uuid', 'The brand.'));
  if (declaration.extent?.kind === 'range') {
    columns.push(request('range_from', 'day', 'First day of the range of the numbers.'));
    columns.push(request('range_to', 'day', 'Last day of the range of the numbers, inclusive.'));
  }
  for (const parameter of Object.keys(resource.parent?.parameters ?? {})) {
    const about = `Value of {${parameter}} in the path: a row of ${resource.parent?.resource}.`;
    columns.push(request(toColumnName(parameter), 'text', about));
  }
  if (resource.each !== undefined) columns.push(request(resource.each.column, 'text', resource.each.about));
  return columns;
}

function fieldColumns(fields: Fields, from: 'item' | 'body', path: readonly string[], prefix: string): Column[] {
  return Object.entries(fields).flatMap(([field, schema]): Column[] => {
    const meta = metaOf(schema);
    const at = [...path, field];
    const name = `${prefix}${toColumnName(field)}`;
    switch (meta.as) {
      case 'column':
        return [
          {
            name: meta.column ?? name,
            kind: meta.kind,
            about: meta.about,
            source: { from, path: at, ...(meta.pointer === undefined ? {} : { pointer: meta.pointer }) },
          },
        ];
      case 'group':
        return fieldColumns(meta.fields, from, at, `${name}_`);
      default:
        return [];
    }
  });
}

function childTables(
  declaration: TableDeclaration,
  columns: readonly Column[],
  fixed: readonly Column[],
  keyColumns: readonly string[],
): ChildTable[] {
  const parent = (name: string, as = name): Column => {
    const column = columns.find((candidate) => candidate.name === name);
    if (column === undefined)
      throw new TypeError(`table ${declaration.name} has no column ${name} to copy to its child tables`);
    return { ...column, name: as, source: { from: 'parent', column: name } };
  };
  return Object.entries(declaration.fields).flatMap(([field, schema]): ChildTable[] => {
    const meta = metaOf(schema);
    if (meta.as !== 'child') return [];
    const keys = keyColumns.map((name) => parent(name, name === 'id' ? `${singular(declaration.name)}_id` : name));
    const repeated = meta.child.repeat.map((name) => parent(columnOf(declaration.fields, name)));
    const links = [...fixed.map((column) => parent(column.name)), ...keys];
    const ordinal: Column = {
      name: 'ordinal',
      kind: 'integer',
      about: 'Index in the list that upstream sent, starting at 0.',
      source: { from: 'ordinal' },
    };
    return [
      {
        name: meta.child.table,
        about: meta.about,
        field,
        fields: meta.child.fields,
        columns: [...links, ...repeated, ordinal, ...fieldColumns(meta.child.fields, 'item', [], '')],
        parentKey: links.map((column) => column.name),
        key: [...links.map((column) => column.name), ordinal.name],
      },
    ];
  });
}

function toColumnExtent(declaration: TableDeclaration): Extent {
  const extent = declaration.extent ?? { kind: 'scope' };
  return extent.kind === 'time' ? { kind: 'time', field: columnOf(declaration.fields, extent.field) } : extent;
}

/** Returns the column of a top-level scalar field. A name that is not a field is a request column and returned unchanged. */
export function columnOf(fields: Fields, field: string): string {
  const schema = fields[field];
  if (schema === undefined) return field;
  const meta = metaOf(schema);
  return (meta.as === 'column' ? meta.column : undefined) ?? toColumnName(field);
}

function singular(table: string): string {
  return table.endsWith('s') ? table.slice(0, -1) : table;
}

function engine(name: string, kind: ColumnKind, about: string): Column {
  return { name, kind, about, source: { from: 'engine' } };
}

/** Turns an API field name into its column name: `brandMentioned` becomes `brand_mentioned`. */
export function toColumnName(field: string): string {
  return field
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}
