import { brandListOf, type Catalogue, type Resource } from '../contract/catalogue.ts';
import type { Query as CheckedQuery } from '../contract/query-parameters.ts';
import { engineColumns, type ResourceTable } from '../contract/tables.ts';
import { type Conventions, listOrderOf } from '../metrics/calibration/conventions.ts';
import { readsOf } from '../metrics/numbers/reports.ts';
import type { Query } from '../warehouse/database.ts';
import { totalsResources } from '../warehouse/ledger/reported-totals.ts';
import type { Shapes } from '../warehouse/ledger/shapes.ts';
import { literal, quoted } from '../warehouse/schema.ts';

/** The parts of a request that determine which data its response is made of. */
export interface VersionedRequest {
  readonly resource: Resource;
  readonly brandId: string | null;
  /** Id of the row, for a detail. */
  readonly member: string | null;
  readonly asked: CheckedQuery;
}

/** Fingerprints of a replica's data. */
export interface DataVersions {
  /**
   * Returns a text that differs if any data differ of which the response is made: its tables within its brand, their order,
   * upstream's response formats, and for computed numbers the calibration.
   */
  of(request: VersionedRequest): string;
  /** A text that differs if any data differ. */
  readonly all: string;
}

/** Key of the fingerprint of a complete table. */
const COMPLETE = '';

/** Reads the fingerprints. They depend on content only, so publishing again does not change them. */
export async function readDataVersions(
  query: Query,
  catalogue: Catalogue,
  shapes: Shapes,
  conventions: Conventions,
): Promise<DataVersions> {
  const brands = brandListOf(catalogue);
  const prints = new Map<string, string>();
  const read = async (name: string, sql: string): Promise<void> => {
    for (const [scope, ...values] of await query(sql)) prints.set(`${name} ${scope ?? COMPLETE}`, values.join());
  };
  const served = new Set(catalogue.resources.flatMap((resource) => sourcesOf(catalogue, resource)));
  for (const table of [...served].flatMap(({ derived }) => derived)) {
    for (const { name, sql } of statementsOf(table)) await read(name, sql);
    if (brands.derived.includes(table)) await read(`${table.name} by id`, contentOf(table.name, 'id'));
  }
  await read(
    'listing',
    `SELECT concat(resource, ' ', brand_id), md5(string_agg(concat(table_name, to_json(keys)), chr(10) ORDER BY table_name))
     FROM sync.listings GROUP BY 1`,
  );
  // Totals are derived from the ranges that were read, in the order of their reads.
  for (const { name } of totalsResources(catalogue)) {
    await read(
      `totals ${name}`,
      `SELECT CAST(brand_id AS VARCHAR), CAST(sum(hash(range_from, range_to, closed_at)) AS VARCHAR), count(*)
       FROM sync.coverage WHERE resource = ${literal(name)} GROUP BY 1`,
    );
  }
  const calibration = JSON.stringify(conventions);
  // The calibration decides the order of paged lists, and which rows a filter by groups matches.
  const calibrated = (resource: Resource): unknown =>
    resource.computes !== undefined
      ? calibration
      : resource.paging === 'cursor'
        ? [listOrderOf(resource.name, conventions), conventions.deletedPrompts]
        : null;
  const ofSource = (source: Resource, { brandId, member }: VersionedRequest): unknown[] => {
    const isBrandList = source.derived.some((table) => brands.derived.some(({ name }) => name === table.name));
    const scope = source.scope === 'brand' ? brandId : COMPLETE;
    const tables = source.derived.flatMap(({ name, children }) => [name, ...children.map((child) => child.name)]);
    const id = isBrandList ? (brandId ?? member) : null;
    const contents = tables.map((name) => prints.get(id === null ? `${name} ${scope}` : `${name} by id ${id}`));
    const listing = prints.get(`listing ${source.name} ${scope}`);
    return [contents, listing, prints.get(`totals ${source.name} ${scope}`), shapes.of(source.name)];
  };
  return {
    of: (request) => {
      const sources = [...new Set(sourcesOf(catalogue, request.resource, request.asked))];
      return JSON.stringify([sources.map((source) => ofSource(source, request)), calibrated(request.resource)]);
    },
    all: JSON.stringify([[...prints].sort(), shapes.text, calibration]),
  };
}

// The resources whose tables a response reads; with every filter, if no request is given.
function sourcesOf(catalogue: Catalogue, resource: Resource, asked?: CheckedQuery): Resource[] {
  const { change, computes, query } = resource;
  const filters = Object.entries(query).flatMap(([name, { filter }]) =>
    filter?.by === 'list' && (asked === undefined || asked.values[name] !== undefined) ? [filter.resource] : [],
  );
  const list = change.kind === 'detail' ? [change.of] : [];
  const own = computes === undefined ? [resource.name] : [brandListOf(catalogue).name, ...readsOf(computes)];
  return [...own, ...list, ...filters].map((name) => catalogue.get(name));
}

// Rows with a time are many and are never ordered by their position. Every write of such a row sets its engine columns and
// replaces its nested rows, so its key and engine columns stand for both.
function statementsOf(table: ResourceTable): { name: string; sql: string }[] {
  const isScoped = (columns: ResourceTable['columns']): boolean => columns.some(({ name }) => name === 'brand_id');
  if (table.extent.kind === 'time') {
    const columns = [...table.key, ...engineColumns.filter(({ kind }) => kind !== 'json').map(({ name }) => name)];
    const scope = isScoped(table.columns) ? 'CAST(brand_id AS VARCHAR)' : `'${COMPLETE}'`;
    const sql = `SELECT ${scope}, CAST(sum(hash(${columns.map(quoted).join(', ')})) AS VARCHAR), count(*)
      FROM ${quoted(table.name)} GROUP BY 1`;
    return [{ name: table.name, sql }];
  }
  return [table, ...table.children].map(({ name, columns }) => {
    return { name, sql: contentOf(name, isScoped(columns) ? 'brand_id' : null) };
  });
}

// All values of all rows in their order.
function contentOf(table: string, scopeColumn: string | null): string {
  const scope = scopeColumn === null ? `'${COMPLETE}'` : `CAST(whole_row.${quoted(scopeColumn)} AS VARCHAR)`;
  return `SELECT scope, CAST(sum(hash(content, place)) AS VARCHAR), count(*) FROM (
      SELECT ${scope} AS scope, hash(whole_row) AS content,
        row_number() OVER (PARTITION BY ${scope} ORDER BY whole_row.rowid) AS place
      FROM ${quoted(table)} whole_row) GROUP BY 1`;
}
