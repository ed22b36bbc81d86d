import { marts } from '../marts/marts.ts';
import { onlyBrand, type Scope, uuidLiteral } from './scope-sql.ts';

// Read once, because every request about domains needs it.
const OWNERS_SQL = marts().find(({ name }) => name === 'dim_domain')?.sql ?? '';

/**
 * Returns the CTE `name`: the columns `brand_id`, `domain`, `owner` and `competitor_id` of mart.dim_domain, for the domains in `cited` only,
 * because the mart reads all citations. `cited` is the name of a relation or a SELECT in parentheses, with `brand_id` and `domain`.
 */
export function ownersCte(name: string, cited: string): string {
  const sql = OWNERS_SQL.replaceAll('mart.fct_citation', () => cited);
  return `${name} AS MATERIALIZED (\n  SELECT brand_id, domain, owner, competitor_id FROM (\n${sql}\n)\n)`;
}

/** Returns a SELECT in parentheses of the `brand_id` and `domain` of citations, each pair once. `from` is a FROM clause. */
export function domainsOf(scope: Scope, from: string): string {
  const brand = onlyBrand(scope);
  if (brand === null) return `(SELECT DISTINCT brand_id, domain ${from})`;
  // DuckDB groups by the dictionary of a column if it is the only one.
  return `(SELECT ${uuidLiteral(brand)} AS brand_id, domain FROM (SELECT DISTINCT domain ${from}))`;
}
