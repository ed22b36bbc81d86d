import type { Catalogue } from '../../contract/catalogue.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import { createBindings, liveConditions } from '../../warehouse/conditions.ts';
import type { Query } from '../../warehouse/database.ts';
import { quoted } from '../../warehouse/schema.ts';
import { listingOrder } from '../../warehouse/write/listings.ts';
import type { Conventions } from '../calibration/conventions.ts';
import { answerTables } from './aggregate.ts';
import type { Entity, ReportedBrand } from './report-request.ts';

type KeptCompetitors = Pick<Conventions, 'topCompetitorsDeleted'>;

/** Reads a brand's name, its engines and its competitors. `name` is null if the brand is unknown. */
export async function readReportedBrand(
  query: Query,
  catalogue: Catalogue,
  brandId: string,
  since: string | null,
  kept: KeptCompetitors,
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
    competitors: await readTracked(query, catalogue, brandId),
    formerCompetitors: keepsFormer(kept) ? await readFormer(query, catalogue, brandId) : [],
  };
}

/** Whether reports list deleted competitors. */
export function keepsFormer({ topCompetitorsDeleted }: KeptCompetitors): boolean {
  return topCompetitorsDeleted !== 'excluded';
}

async function readTracked(query: Query, catalogue: Catalogue, brandId: string): Promise<Entity[]> {
  const resource = catalogue.get('competitors');
  const table = resource.derived[0] as ResourceTable;
  const bindings = createBindings();
  const { join, orderBy } = listingOrder(resource.name, table, brandId, bindings);
  const where = liveConditions('t', brandId, bindings).join(' AND ');
  const rows = await query(
    `SELECT CAST(t.id AS VARCHAR), t.name FROM ${quoted(table.name)} t ${join} WHERE ${where} ORDER BY ${orderBy}`,
    bindings.values,
  );
  return rows.map(toEntity);
}

// Competitors deleted before the first sync are only known from the responses that mention them.
async function readFormer(query: Query, catalogue: Catalogue, brandId: string): Promise<Entity[]> {
  const { name } = catalogue.get('competitors').derived[0] as ResourceTable;
  const { competitors: mentions } = answerTables(catalogue);
  const rows = await query(
    `WITH known AS (SELECT id, name, _deleted_at FROM ${quoted(name)} WHERE brand_id = CAST($1 AS UUID)),
       mentioned AS (SELECT competitor_id AS id, arg_max(name, created_at) AS name FROM ${quoted(mentions.name)}
         WHERE brand_id = CAST($1 AS UUID) AND _deleted_at IS NULL AND competitor_id NOT IN (SELECT id FROM known) GROUP BY 1)
     SELECT CAST(id AS VARCHAR), name FROM (
       SELECT id, name FROM known WHERE _deleted_at IS NOT NULL UNION ALL SELECT id, name FROM mentioned) ORDER BY id`,
    [brandId],
  );
  return rows.map(toEntity);
}

function toEntity([id, name]: readonly unknown[]): Entity {
  return { competitorId: String(id), name: name as string | null };
}
