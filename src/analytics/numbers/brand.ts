import type { Catalogue } from '../../contract/catalogue.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import { createBindings } from '../../warehouse/conditions.ts';
import type { Query } from '../../warehouse/database.ts';
import { quoted } from '../../warehouse/schema.ts';
import { listingOrder } from '../../warehouse/write/listings.ts';
import type { Entity, ReportedBrand } from './report-request.ts';

/** Reads a brand's name, its engines and the competitors tracked now. `name` is null if the brand is unknown. */
export async function readReportedBrand(
  query: Query,
  catalogue: Catalogue,
  brandId: string,
  since: string | null,
): Promise<ReportedBrand> {
  const brands = catalogue.get('brands').derived[0] as ResourceTable;
  const [row] = await query(
    `SELECT name, CAST(engines AS VARCHAR) FROM ${quoted(brands.name)} WHERE id = CAST($1 AS UUID)`,
    [brandId],
  );
  const engines = typeof row?.[1] === 'string' ? (JSON.parse(row[1]) as unknown) : [];
  return {
    id: brandId,
    name: (row?.[0] ?? null) as string | null,
    since,
    engines: Array.isArray(engines) ? engines.filter((slug): slug is string => typeof slug === 'string') : [],
    ...(await readCompetitors(query, catalogue, brandId)),
  };
}

async function readCompetitors(
  query: Query,
  catalogue: Catalogue,
  brandId: string,
): Promise<Pick<ReportedBrand, 'competitors' | 'formerCompetitors'>> {
  const resource = catalogue.get('competitors');
  const table = resource.derived[0] as ResourceTable;
  const bindings = createBindings();
  const { join, orderBy } = listingOrder(resource.name, table, brandId, bindings);
  const rows = await query(
    `SELECT CAST(t.id AS VARCHAR), t.name, t._deleted_at IS NULL FROM ${quoted(table.name)} t ${join}
     WHERE t.brand_id = CAST(${bindings.bind(brandId)} AS UUID) ORDER BY ${orderBy}, t.id`,
    bindings.values,
  );
  const entities = (isTracked: boolean): Entity[] =>
    rows.flatMap(([id, name, is]) =>
      is === isTracked ? [{ competitorId: String(id), name: name as string | null }] : [],
    );
  return { competitors: entities(true), formerCompetitors: entities(false) };
}
