import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue, type Resource } from '../../src/contract/catalogue.ts';
import { nextCursorOf, pagesOf } from '../../src/contract/paging.ts';
import { parseBody } from '../../src/contract/plausibility/page-work.ts';
import { createRowReader, type TableRows } from '../../src/contract/rows.ts';
import { type PageScope, readPage } from '../../src/sync/read-page.ts';

const folder = join(import.meta.dirname, '../fixtures');
const catalogue = createCatalogue(declarations);

/** The day on which the pages were sent. */
const TODAY = '2026-11-20';

type Values = Record<string, unknown>;

/** An example page of a resource and what it becomes. */
interface Example {
  readonly request: PageScope;
  /** The body as upstream sends it. */
  readonly page: unknown;
  /** Cursor of the next page. */
  readonly next: string | null;
  /** Rows by table, without the columns that the sync engine writes. */
  readonly rows: Readonly<Record<string, readonly Values[]>>;
}

describe('test/fixtures', () => {
  it('has exactly one example page for each resource', () => {
    expect(readdirSync(folder).sort()).toEqual(catalogue.resources.map(({ name }) => `${name}.json`).sort());
  });

  it.each(catalogue.resources.map((resource) => [resource.name, resource] as const))(
    '%s: the example page becomes exactly the listed rows, and has a null, an unknown field and a value for every column',
    (name, resource) => {
      const { request, page, next, rows }: Example = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));
      const bytes = Buffer.from(JSON.stringify(page));
      const { value: body, isDamaged } = parseBody(bytes);
      const reader = createRowReader(catalogue, resource);
      const { tables } = readPage(resource, reader, request, body, { bytes, isDamaged }, TODAY);

      expect(tables.flatMap(({ rejected }) => rejected)).toEqual([]);
      expect(rowsOf(resource, tables)).toEqual(rows);
      expect(nextCursorOf(body, pagesOf(resource))).toBe(next);

      for (const [table, columns] of columnsOf(resource)) {
        const filled = columns.filter((column) => rows[table]?.some((row) => row[column] !== null));
        expect(filled, table).toEqual(columns);
      }
      const extra = resource.change.kind === 'detail' ? '_detail_extra' : '_extra';
      expect(Object.values(rows).some((list) => list.some((row) => row[extra] !== null))).toBe(true);
      expect(JSON.stringify(page)).toContain('null');
    },
  );
});

/** Returns the rows by table, those of child tables included, with the unknown fields of each. */
function rowsOf({ change, derived }: Resource, tables: readonly TableRows[]): Record<string, Values[]> {
  const names = derived.flatMap((table) => [table.name, ...table.children.map((child) => child.name)]);
  const found: Record<string, Values[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (const { table, rows } of tables) {
    for (const { values, extra, children } of rows) {
      found[table.name]?.push({ ...values, [change.kind === 'detail' ? '_detail_extra' : '_extra']: extra });
      for (const child of children) {
        found[child.table.name]?.push(
          ...child.rows.map((row) => ({ ...child.inherited, ...row.values, _extra: row.extra })),
        );
      }
    }
  }
  return found;
}

/** Returns the columns of each table that come from the request or the page. */
function columnsOf({ derived }: Resource): (readonly [table: string, columns: string[]])[] {
  const named = ({ name, columns }: Pick<Resource['derived'][number], 'name' | 'columns'>) =>
    [name, columns.filter(({ source }) => source.from !== 'engine').map((column) => column.name)] as const;
  return derived.flatMap((table) => [named(table), ...table.children.map(named)]);
}
