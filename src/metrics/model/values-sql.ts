import { literal } from '../../warehouse/schema.ts';
import { type Dimension, type DimensionName, dimensions, type ModelColumn } from './dimensions.ts';
import { inBrands } from './scope-sql.ts';

const nameColumn: ModelColumn = { name: 'name', type: 'VARCHAR', about: 'Display name.' };

/** Returns the columns of the values of a dimension. The last one is the name. */
export function valueColumns({ name, columns }: Dimension): readonly ModelColumn[] {
  return name === 'engine' ? [...columns, nameColumn] : columns;
}

/**
 * Returns SQL of the values of a dimension in the brands, ordered by name, with the columns of `valueColumns` and `total`, the number of
 * values without the limit. `search` selects values with a name that contains the text in any letter case; null selects all.
 */
export function valuesSql(
  dimension: Dimension,
  {
    brands,
    search,
    limit,
  }: { readonly brands: readonly string[]; readonly search: string | null; readonly limit: number },
): string {
  const columns = valueColumns(dimension).map(({ name }) => name);
  const names = valueColumns(dimension).filter(({ name, type }) => type === 'VARCHAR' && !/_(id|type)$/.test(name));
  const found = names.map(({ name }) => `contains(lower(${name}), lower(${literal(search ?? '')}))`);
  const where = search === null ? '' : `\nWHERE ${found.join(' OR ')}`;
  const last = columns.at(-1) as string;
  return `SELECT ${columns.join(', ')}, count(*) OVER () AS total
FROM (\n  ${selects[dimension.name](inBrands(brands))}\n)${where}
ORDER BY lower(${last}), ${columns.join(', ')}\nLIMIT ${limit}`;
}

const inGroups = (name: DimensionName, columns: string): ((brands: string) => string) => {
  const { groupBy = '' } = dimensions.find((dimension) => dimension.name === name) ?? {};
  return (brands) =>
    `SELECT ${columns} FROM mart.dim_prompt_group WHERE group_by = ${literal(groupBy)} AND ${brands} GROUP BY group_id`;
};

// SELECTs of the values in the brands of a condition on `brand_id`.
const selects: Readonly<Record<DimensionName, (brands: string) => string>> = {
  brand: (brands) => `SELECT brand_id, name AS brand FROM mart.dim_brand WHERE ${brands}`,
  engine: (brands) => `SELECT engine, name FROM mart.dim_engine WHERE engine IN (
    SELECT unnest(CAST(engines AS VARCHAR[])) FROM (SELECT id AS brand_id, engines FROM main.brands) WHERE ${brands}
    UNION SELECT engine FROM mart.fct_response WHERE ${brands}
  )`,
  topic: inGroups('topic', 'group_id AS topic_id, min(name) AS topic'),
  tag: inGroups('tag', 'group_id AS tag_id, min(name) AS tag'),
  funnel_stage: inGroups('funnel_stage', 'group_id AS funnel_stage'),
  branded: inGroups('branded', 'group_id AS branded'),
  prompt: (brands) =>
    `SELECT id AS prompt_id, min(text) AS prompt FROM main.prompts WHERE _deleted_at IS NULL AND ${brands} GROUP BY id`,
  entity: (
    brands,
  ) => `SELECT 'brand' AS entity_type, CAST(NULL AS UUID) AS competitor_id, name AS entity FROM mart.dim_brand WHERE ${brands}
  UNION ALL SELECT 'competitor', competitor_id, name FROM mart.dim_competitor WHERE ${brands}`,
  domain: (brands) => `SELECT DISTINCT domain FROM mart.fct_citation WHERE domain IS NOT NULL AND ${brands}`,
  owner: (brands) => `SELECT DISTINCT owner FROM mart.dim_domain WHERE ${brands}`,
  source: (brands) => `SELECT DISTINCT source FROM mart.fct_traffic_daily WHERE ${brands}`,
};
