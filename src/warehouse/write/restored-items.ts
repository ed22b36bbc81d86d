import type { Catalogue } from '../../contract/catalogue.ts';
import { type Fields, metaOf } from '../../contract/fields.ts';
import { type ChildTable, type Column, DETAIL_ITEM, type ResourceTable, WHOLE_ITEM } from '../../contract/tables.ts';
import type { Session } from '../database.ts';
import { literal, quoted, utc } from '../schema.ts';

/**
 * Writes the items of all rows from their columns, for rows of a snapshot. The fields are in declared order and in the
 * project's forms. Missing values are null, and undeclared members that are null are left out. Clears the hash of every row, so that the
 * next read replaces the items. Call it within a transaction, in a warehouse without items.
 */
export async function restoreItems(session: Session, { resources }: Catalogue): Promise<void> {
  const tables = resources.flatMap((resource) => (resource.change.kind === 'detail' ? [] : resource.derived));
  for (const table of tables.filter(({ declaration: { whole } }) => whole === undefined)) {
    await session.run(
      restoreSql(table, table.declaration.fields, {
        item: WHOLE_ITEM,
        hash: '_row_hash',
        extra: '_extra',
        where: 'true',
      }),
    );
  }
  const children = resources.flatMap(({ derived }) => derived.flatMap((table) => table.children));
  for (const { name } of children) await session.run(`UPDATE ${quoted(name)} SET "_row_hash" = ''`);
  for (const detail of resources.filter(({ change }) => change.kind === 'detail')) {
    for (const table of detail.derived) {
      const list = tables.find(({ name }) => name === table.name) as ResourceTable;
      const both = {
        ...table,
        columns: [...list.columns, ...table.columns],
        children: [...list.children, ...table.children],
      };
      const fields = { ...list.declaration.fields, ...table.declaration.fields };
      const where = 't."_detail_synced_at" IS NOT NULL';
      await session.run(
        restoreSql(both, fields, { item: DETAIL_ITEM, hash: '_detail_hash', extra: '_detail_extra', where }),
      );
    }
  }
}

interface Target {
  readonly item: string;
  readonly hash: string;
  readonly extra: string;
  readonly where: string;
}

function restoreSql(
  { name, columns, children, key }: Pick<ResourceTable, 'name' | 'columns' | 'children' | 'key'>,
  fields: Fields,
  { item, hash, extra, where }: Target,
): string {
  const lists = new Map(children.map((child, index) => [child.field, `coalesce(c${index}.items, CAST('[]' AS JSON))`]));
  const object = withExtra(objectOf(fields, [], { columns, alias: 't', lists }), `t.${quoted(extra)}`);
  const joins = children.map((child, index) => joinOf(child, index));
  const same = key.map((column) => `r.${quoted(column)} IS NOT DISTINCT FROM n.${quoted(column)}`);
  return `UPDATE ${quoted(name)} AS r SET ${quoted(item)} = n._text, ${quoted(hash)} = '' FROM (
      SELECT ${key.map((column) => `t.${quoted(column)}`).join(', ')}, CAST(${object} AS VARCHAR) AS _text
      FROM ${quoted(name)} t ${joins.join(' ')} WHERE ${where}) n
    WHERE ${same.join(' AND ')}`;
}

interface Source {
  readonly columns: readonly Column[];
  readonly alias: string;
  /** SQL of the elements of nested arrays by field. */
  readonly lists: ReadonlyMap<string, string>;
}

function objectOf(fields: Fields, at: readonly string[], source: Source): string {
  const members = Object.entries(fields).map(([field, schema]) => {
    const meta = metaOf(schema);
    const path = [...at, field];
    const value =
      meta.as === 'child'
        ? (source.lists.get(field) ?? 'NULL')
        : meta.as === 'group'
          ? groupOf(meta.fields, path, source)
          : valueOf(path, source);
    return `${literal(field)}, ${value}`;
  });
  return `json_object(${members.join(', ')})`;
}

// An object of nulls and null have the same columns.
function groupOf(fields: Fields, path: readonly string[], source: Source): string {
  const values = source.columns
    .filter((column) => column.source.from === 'item' && path.every((step, index) => pathOf(column)[index] === step))
    .map(({ name }) => `${source.alias}.${quoted(name)}`);
  return `if(coalesce(${values.map((value) => `CAST(${value} AS VARCHAR)`).join(', ')}) IS NULL, NULL, ${objectOf(fields, path, source)})`;
}

function valueOf(path: readonly string[], { columns, alias }: Source): string {
  const column = columns.find((one) => one.source.from === 'item' && pathOf(one).join('.') === path.join('.'));
  if (column === undefined) throw new TypeError(`no column for the field ${path.join('.')}`);
  const value = `${alias}.${quoted(column.name)}`;
  if (column.kind === 'timestamp') return `strftime(${utc(value)}, '%Y-%m-%dT%H:%M:%S.%gZ')`;
  return column.kind === 'uuid' || column.kind === 'day' ? `CAST(${value} AS VARCHAR)` : value;
}

function pathOf({ source }: Column): readonly string[] {
  return source.from === 'item' ? source.path : [];
}

function withExtra(object: string, extra: string): string {
  return `if(${extra} IS NULL, ${object}, json_merge_patch(${object}, ${extra}))`;
}

function joinOf(child: ChildTable, index: number): string {
  const alias = `c${index}`;
  const object = withExtra(
    objectOf(child.fields, [], { columns: child.columns, alias: 'x', lists: new Map() }),
    'x._extra',
  );
  const links = child.columns.flatMap(({ name, source }) =>
    source.from === 'parent' && child.parentKey.includes(name) ? [{ name, of: source.column }] : [],
  );
  const keys = links.map(({ name }) => `x.${quoted(name)}`).join(', ');
  const same = links.map(({ name, of }) => `${alias}.${quoted(name)} IS NOT DISTINCT FROM t.${quoted(of)}`);
  return `LEFT JOIN (SELECT ${keys}, to_json(list(${object} ORDER BY x.ordinal)) AS items FROM ${quoted(child.name)} x
      GROUP BY ${keys}) ${alias} ON ${same.join(' AND ')}`;
}
