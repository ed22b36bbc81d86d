import { addDays } from '../../contract/time.ts';
import { literal } from '../../warehouse/schema.ts';
import type { FactFamily } from './measures.ts';

const IN_BRANDS = 'CAST(brand_id AS VARCHAR) IN (SELECT unnest($1))';

/** An inclusive range of days (UTC), `YYYY-MM-DD`. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** Facts of a brand that cannot be compared between the periods of a scope, because one of them is not covered completely. */
export interface ComparisonGap {
  readonly family: FactFamily;
  readonly brandId: string;
  /** A sentence for people. */
  readonly reason: string;
}

/** The responses that a request is about: brands, days and filters. An empty list of a filter selects all. */
export interface Scope extends DayRange {
  /** Ids of current brands; never empty. */
  readonly brands: readonly string[];
  /** The comparison period; null for none. */
  readonly before: DayRange | null;
  /** The facts without a comparison; empty if `before` is null. */
  readonly gaps: readonly ComparisonGap[];
  readonly engines: readonly string[];
  readonly topics: readonly string[];
  readonly tags: readonly string[];
  readonly branded: 'branded' | 'non-branded' | null;
  readonly prompts: readonly string[];
  /** Responses that mention one of these competitors. */
  readonly competitors: readonly string[];
}

/** The filters with names, and SELECTs of their ids and names in the brands $1. */
export const SCOPE_LISTS = {
  engine: 'SELECT engine, nullif(name, engine) FROM mart.dim_engine WHERE $1 IS NOT NULL ORDER BY engine',
  topic: groupsOf('topic'),
  tag: groupsOf('tag'),
  prompt: `SELECT DISTINCT CAST(id AS VARCHAR), text FROM main.prompts WHERE ${IN_BRANDS} ORDER BY text`,
  competitor: `SELECT DISTINCT CAST(id AS VARCHAR), name FROM main.competitors WHERE ${IN_BRANDS} ORDER BY name`,
} as const;

/**
 * SELECTs of the ids in $2 that stored responses of the brands $1 have. Upstream may never have listed them, for example
 * a prompt that was deleted before the first sync.
 */
export const RESPONSE_IDS: Partial<Record<ScopeList, string>> = {
  prompt: storedIds('main.responses', 'prompt_id'),
  competitor: storedIds('main.response_competitors', 'competitor_id'),
};

/** A filter in SCOPE_LISTS. */
export type ScopeList = keyof typeof SCOPE_LISTS;

function storedIds(table: string, column: string): string {
  return `SELECT DISTINCT CAST(${column} AS VARCHAR) FROM ${table}
    WHERE ${IN_BRANDS} AND ${column} IN (SELECT CAST(unnest($2) AS UUID))`;
}

/** Returns the CTE `name`: the responses of a scope in a range, with the columns of mart.fct_response; none if the range is null. */
export function scopeCte(name: string, scope: Scope, range: DayRange | null): string {
  const where = range === null ? 'false' : responseConditions(scope, range).join('\n    AND ');
  return `${name} AS (\n  SELECT * FROM mart.fct_response\n  WHERE ${where}\n)`;
}

/** Returns the periods of a scope, joined to one if the comparison ends when the range begins. */
export function periodsOf(scope: Scope): readonly DayRange[] {
  const { before, from, to } = scope;
  if (before === null) return [scope];
  return addDays(before.to, 1) === from ? [{ from: before.from, to }] : [before, scope];
}

/** Returns the conditions for rows with `brand_id`, `engine` and `created_at` in the periods of a scope. */
export function childConditions(scope: Scope): string[] {
  const { engines } = scope;
  const within = periodsOf(scope).map((range) => inRange(range).join(' AND '));
  return [
    inBrands(scope.brands),
    within.length === 1 ? String(within[0]) : `(${within.map((condition) => `(${condition})`).join(' OR ')})`,
    ...oneOf('engine', engines, literal),
  ];
}

/**
 * Returns the conditions on `prompt_id` that select few rows of mentions or citations. The other filters on prompts are left to the
 * join with the responses, because they would cost more than they save.
 */
export function rareConditions(scope: Scope): string[] {
  return promptConditions({ ...scope, branded: scope.branded === 'branded' ? scope.branded : null });
}

/** Returns the condition that the facts of a family cannot be compared; null if they can. `brandId` is the column of the brand, if there is one. */
export function gapCondition({ gaps }: Scope, family: FactFamily, brandId: string | null): string | null {
  const brands = gaps.filter((gap) => gap.family === family).map((gap) => uuidLiteral(gap.brandId));
  if (brands.length === 0) return null;
  // A sum over several brands cannot be compared if one of them cannot.
  return brandId === null ? 'true' : `${brandId} IN (${brands.join(', ')})`;
}

/** Returns the brand of a scope if it has only one. */
export function onlyBrand({ brands: [brand, ...others] }: Scope): string | null {
  return brand === undefined || others.length > 0 ? null : brand;
}

/** Returns the condition that `brand_id` is one of the brands. */
export function inBrands(brands: readonly string[]): string {
  return String(oneOf('brand_id', brands, uuidLiteral)[0]);
}

/** Returns the first moment of a day (UTC) as an SQL literal. */
export function startOf(day: string): string {
  return `TIMESTAMPTZ '${day} 00:00:00+00'`;
}

/** Returns an id as an SQL literal. */
export function uuidLiteral(id: string): string {
  return `UUID ${literal(id)}`;
}

function responseConditions(scope: Scope, range: DayRange): string[] {
  const { competitors, engines } = scope;
  const rivals = [
    inBrands(scope.brands),
    ...inRange(range),
    '_deleted_at IS NULL',
    ...oneOf('competitor_id', competitors, uuidLiteral),
  ];
  return [
    inBrands(scope.brands),
    ...inRange(range),
    ...oneOf('engine', engines, literal),
    ...promptConditions(scope),
    ...(competitors.length === 0
      ? []
      : [`response_id IN (SELECT response_id FROM main.response_competitors WHERE ${rivals.join(' AND ')})`]),
  ];
}

function promptConditions(scope: Scope): string[] {
  const { topics, tags, branded, prompts } = scope;
  // A row as the key of a join is slower than an id.
  const brand = onlyBrand(scope);
  const key = brand === null ? '(brand_id, prompt_id)' : 'prompt_id';
  const within = brand === null ? '' : `brand_id = ${uuidLiteral(brand)} AND `;
  const inGroup = (groupBy: string, ids: readonly string[]): string[] =>
    ids.length === 0
      ? []
      : [
          `${key} IN (SELECT ${key} FROM mart.dim_prompt_group
      WHERE ${within}group_by = ${literal(groupBy)} AND ${oneOf('group_id', ids, literal)[0]})`,
        ];
  return [
    ...oneOf('prompt_id', prompts, uuidLiteral),
    ...inGroup('topic', topics),
    ...inGroup('tag', tags),
    ...inGroup('branded', branded === null ? [] : [branded]),
  ];
}

// Compares times and casts no column, so that DuckDB skips row groups outside the range.
function inRange({ from, to }: DayRange): string[] {
  return [`created_at >= ${startOf(from)}`, `created_at < ${startOf(addDays(to, 1))}`];
}

function oneOf(column: string, values: readonly string[], toLiteral: (value: string) => string): string[] {
  if (values.length === 0) return [];
  if (values.length === 1) return [`${column} = ${toLiteral(values[0] as string)}`];
  return [`${column} IN (${values.map(toLiteral).join(', ')})`];
}

function groupsOf(groupBy: string): string {
  return `SELECT group_id, min(name) FROM mart.dim_prompt_group WHERE group_by = '${groupBy}' AND ${IN_BRANDS} GROUP BY group_id ORDER BY 2`;
}
