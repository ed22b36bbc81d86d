import { chooseName } from '../../base/choose-name.ts';
import { SightlineError } from '../../base/errors.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import { isItemText } from '../../contract/tables.ts';
import { brandTableOf } from '../../warehouse/brand-list.ts';
import type { CopySource } from '../../warehouse/file/copy-out.ts';
import { literal, quoted } from '../../warehouse/schema.ts';
import { type DayRange, exceeds, overlaps, type Period, periodOf } from './period.ts';

/** Selection of an export; null selects everything. */
export interface Selection extends DayRange {
  /** Names of tables and views, in the form `schema.name` if the schema is not `main`. */
  readonly tables: readonly string[] | null;
  readonly brands: readonly string[] | null;
}

/** A table or view to export. */
export interface Selected {
  readonly name: string;
  /** Quoted name, for SQL. */
  readonly source: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Period of a row, by which `from` and `to` select rows that overlap with it; null if there is none. */
  readonly period: Period | null;
  /** SQL condition of the rows of the selected brands. */
  readonly ofBrands: string;
  /** SQL condition of the rows of the selected days. */
  readonly ofDays: string;
  /** SQL condition of rows whose period is partly outside the selected days. */
  readonly isPartial: string;
  /** SQL of the order of rows, so that equal rows give equal files. */
  readonly order: string;
}

/**
 * Resolves a selection, in the order in which the tables were named.
 * @throws `usage` for an unknown table or brand
 */
export async function select(source: CopySource, catalogue: Catalogue, selection: Selection): Promise<Selected[]> {
  const known = await readNames(source);
  const all = [...catalogue.tables, ...catalogue.histories];
  const given = selection.tables?.map((name) => chooseTable(name, [...known.keys()]));
  const names = given ?? all.map(({ name }) => name).filter((name) => known.has(name));
  if (selection.brands !== null) await checkBrands(source, catalogue, selection.brands);
  const selected: Selected[] = [];
  for (const name of new Set(names)) {
    const sql = known.get(name) as string;
    const rows = await source.all(`DESCRIBE SELECT * FROM ${sql}`);
    const table = all.find((candidate) => candidate.name === name);
    const hidden = new Set(table?.columns.filter(isItemText).map((column) => column.name));
    const columns = rows
      .map((row) => ({ name: String(row['column_name']), type: String(row['column_type']) }))
      .filter((column) => !hidden.has(column.name));
    const period = periodOf(columns, table);
    const keys = table === undefined ? [] : [...(period === null ? [] : [period.column]), ...table.key];
    selected.push({
      name,
      source: sql,
      columns,
      period,
      ofBrands: brandsOf(catalogue, name, columns, selection.brands),
      ofDays: (period === null ? [] : overlaps(period, selection)).join(' AND ') || 'true',
      isPartial: period === null ? 'false' : exceeds(period, selection),
      order: keys.length === 0 ? 'ORDER BY ALL' : `ORDER BY ${[...new Set(keys)].map(quoted).join(', ')}`,
    });
  }
  return selected;
}

/**
 * Returns the table or view that a user means: by its name with or without the schema, or by the beginning of its name.
 *
 * @throws `usage` for an unknown or ambiguous table.
 */
export function chooseTable(given: string, names: readonly string[]): string {
  const inSchema = names.filter((name) => name.split('.').at(-1) === given.toLowerCase());
  return inSchema.length === 1 ? (inSchema[0] as string) : chooseName('table', given, names);
}

// Reads the names of all tables and views except those of the internal schema `sync`.
async function readNames(source: CopySource): Promise<Map<string, string>> {
  const rows = await source.query(
    `SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal AND schema_name <> 'sync'
     UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal AND schema_name <> 'sync' ORDER BY ALL`,
  );
  return new Map(
    rows.map(([schema, name]) => {
      const shown = schema === 'main' ? String(name) : `${schema}.${name}`;
      return [shown, `${quoted(String(schema))}.${quoted(String(name))}`];
    }),
  );
}

function brandsOf(
  catalogue: Catalogue,
  name: string,
  columns: Selected['columns'],
  brands: readonly string[] | null,
): string {
  if (brands === null) return 'true';
  const list = brandTableOf(catalogue);
  const of = catalogue.histories.find((history) => history.name === name)?.of ?? name;
  const column = list.name === of ? list.id : 'brand_id';
  if (!columns.some((candidate) => candidate.name === column)) return 'true';
  return `CAST(${quoted(column)} AS VARCHAR) IN (${brands.map((id) => literal(id.toLowerCase())).join(', ')})`;
}

async function checkBrands(source: CopySource, catalogue: Catalogue, brands: readonly string[]): Promise<void> {
  const { name, id } = brandTableOf(catalogue);
  const rows = await source.query(`SELECT DISTINCT CAST(${quoted(id)} AS VARCHAR) FROM ${quoted(name)} ORDER BY ALL`);
  const known = rows.map(([value]) => String(value));
  for (const brand of brands) {
    if (known.includes(brand.toLowerCase())) continue;
    const allowed = known.join(', ');
    throw new SightlineError('usage', `--brand ${JSON.stringify(brand)} is unknown; allowed: ${allowed}`);
  }
}
