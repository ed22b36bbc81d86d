import { literal } from '../../warehouse/schema.ts';
import { type Dimension, type DimensionName, dimensions } from './dimensions.ts';
import type { Grain, Measure } from './measures.ts';
import { domainsOf, ownersCte } from './owners-sql.ts';
import { responseSums } from './response-sums.ts';
import {
  childConditions,
  inBrands,
  onlyBrand,
  periodsOf,
  rareConditions,
  type Scope,
  scopeCte,
  startOf,
} from './scope-sql.ts';

/** Sources and grouping of the facts of a request. */
export interface CellRequest {
  readonly measures: readonly Measure[];
  readonly groupBy: readonly DimensionName[];
  readonly grain: Grain | null;
  readonly scope: Scope;
  /** Worths of the sentiment labels. */
  readonly labels: Readonly<Record<string, number>>;
  /** Whether a response may list the same competitor twice. */
  readonly mayRepeat: boolean;
}

/** Dimensions that divide the mentions or citations of a response. */
export const PARTS: readonly DimensionName[] = ['entity', 'domain', 'owner'];

/**
 * Returns CTEs; the last one is `units`: one row per response with `prompt_id`, `engine`, `created_at`, `is_before`, and `y` and `x` of the
 * measure. Both are null if the response is not a sample unit. `named` has the mentions of competitors, and `cited` the citations.
 */
export function unitCtes(measure: Measure, request: Pick<CellRequest, 'scope' | 'labels' | 'mayRepeat'>): string[] {
  const { y, x = '1' } = measure.sums.response ?? { y: 'NULL' };
  return [
    ...answerCtes({ ...request, measures: [measure], groupBy: [], grain: null }, true),
    `units AS MATERIALIZED (
  SELECT response_id, prompt_id, engine, created_at, is_before, CAST(${y} AS DOUBLE) AS y,
    CASE WHEN (${y}) IS NOT NULL THEN CAST(${x} AS DOUBLE) END AS x
  FROM answers
)`,
  ];
}

/**
 * Returns CTEs; the last one is `answers`: the responses of both periods, with the group columns, and the mentions and citations of each
 * response. `areUnits` adds their prompts, engines and times.
 */
export function answerCtes(request: CellRequest, areUnits = false): string[] {
  const { measures, scope, groupBy, grain } = request;
  const texts = measures.map(({ sums }) => JSON.stringify(sums)).join();
  const reads = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(texts);
  const needsVoices = reads('voices') || reads('voiced');
  const needsRivals = needsVoices || areUnits || groupBy.includes('entity');
  const byDomain = groupBy.includes('domain') || groupBy.includes('owner');
  const needsOwn = reads('own_citations');
  const needsCitations = byDomain || needsOwn || reads('citations');
  const joins = [
    ...promptJoins(groupBy),
    ...(needsVoices
      ? ['LEFT JOIN (SELECT response_id, count(*) AS rivals FROM named GROUP BY response_id) v USING (response_id)']
      : []),
    ...(needsCitations ? [`LEFT JOIN (${citationCounts(scope, needsOwn)}) c USING (response_id)`] : []),
  ];
  const columns = [
    's.response_id',
    's.is_before',
    's.brand_id',
    's.brand_mentioned AS mentioned',
    ...(reads('position') ? ['s.brand_position AS position'] : []),
    ...(areUnits ? ['s.prompt_id', 's.engine', 's.created_at'] : []),
    ...labelColumns(request, 's.brand_sentiment'),
    ...(needsVoices ? [`${responseSums.voices('s.brand_mentioned', 'v.rivals')} AS voices`] : []),
    ...(needsCitations
      ? [
          ...(reads('citations') ? ['coalesce(c.citations, 0) AS citations'] : []),
          'coalesce(c.named_citations, 0) AS named_citations',
          ...(needsOwn ? ['coalesce(c.own_citations, 0) AS own_citations'] : []),
        ]
      : []),
    ...(reads('has_sites') ? ['s.brand_id IN (SELECT brand_id FROM mart.dim_brand WHERE has_sites) AS has_sites'] : []),
    ...(grain === null ? [] : [`CAST(date_trunc(${literal(grain)}, ${alignedDay(scope)}) AS DATE) AS period`]),
    ...unitDimensions(groupBy)
      .filter(({ key }) => key !== 'brand_id')
      .map((dimension) => keyOf(dimension)),
  ];
  const { ctes, responses } = bothPeriods(scope);
  // Rows of parts are joined with the responses, and all responses of a group are counted.
  const isRead = PARTS.some((part) => groupBy.includes(part)) ? ' AS MATERIALIZED' : ' AS';
  return [
    ...ctes,
    ...(reads('first_place') ? [FIRST_PLACE] : []),
    ...(needsRivals ? [namedCte(request)] : []),
    ...(needsCitations || areUnits
      ? [
          citedCte(scope),
          ...(needsOwn || groupBy.includes('owner') ? [ownersCte('owners', domainsOf(scope, 'FROM cited'))] : []),
          ...(needsOwn ? [OWN_DOMAINS] : []),
        ]
      : []),
    `answers${isRead} (
  SELECT ${columns.join(', ')}
  FROM (
    ${responses}
  ) s${joins.map((join) => `\n  ${join}`).join('')}
)`,
  ];
}

// The responses of both periods with `is_before`, read once if the periods follow each other.
function bothPeriods(scope: Scope): { readonly ctes: readonly string[]; readonly responses: string } {
  const [period, other] = periodsOf(scope);
  if (other === undefined) {
    const isBefore = scope.before === null ? 'false' : `created_at < ${startOf(scope.from)}`;
    return {
      ctes: [scopeCte('scope', scope, period ?? scope)],
      responses: `SELECT *, ${isBefore} AS is_before FROM scope`,
    };
  }
  return {
    ctes: [scopeCte('scope', scope, scope), scopeCte('scope_before', scope, scope.before)],
    responses: 'SELECT *, false AS is_before FROM scope\n    UNION ALL SELECT *, true FROM scope_before',
  };
}

function unitDimensions(groupBy: readonly DimensionName[]): Dimension[] {
  return dimensions.filter(({ name }) => groupBy.includes(name) && !PARTS.includes(name));
}

function keyOf({ key, groupBy, name }: Dimension): string {
  if (groupBy !== undefined) return `${name}_of.group_id AS ${key}`;
  return `s.${key}`;
}

function promptJoins(groupBy: readonly DimensionName[]): string[] {
  return unitDimensions(groupBy).flatMap(({ name, groupBy: by }) => {
    if (by !== undefined) {
      return [
        `JOIN mart.dim_prompt_group ${name}_of ON ${name}_of.group_by = ${literal(by)} AND ${name}_of.brand_id = s.brand_id AND ${name}_of.prompt_id = s.prompt_id`,
      ];
    }
    if (name !== 'prompt') return [];
    return ['JOIN main.prompts p ON p.brand_id = s.brand_id AND p.id = s.prompt_id AND p._deleted_at IS NULL'];
  });
}

/** Returns SQL of the day of a row of `s`; for rows of the comparison the day of the period that it is compared with. */
export function alignedDay({ from, before }: Scope): string {
  if (before === null) return 's.day';
  const days = Math.round((Date.parse(from) - Date.parse(before.from)) / 86_400_000);
  return `CASE WHEN s.is_before THEN s.day + ${days} ELSE s.day END`;
}

/** Returns the columns `worth` and `lean` of a sentiment label, if the measures read them. */
export function labelColumns({ labels, measures }: CellRequest, column: string): string[] {
  const texts = JSON.stringify(measures.map(({ sums }) => sums));
  const cases = (values: readonly (readonly [string, number])[]): string =>
    values.length === 0
      ? 'CAST(NULL AS DOUBLE)'
      : `CASE ${column} ${values.map(([label, value]) => `WHEN ${literal(label)} THEN ${value}`).join(' ')} END`;
  const all = Object.entries(labels);
  return [
    ...(texts.includes('"worth"') ? [`${cases(all)} AS worth`] : []),
    ...(texts.includes('"lean"') ? [`${cases(leansOf(all))} AS lean`] : []),
  ];
}

// As in mart.sentiment_label: the reference is the label neutral, or the mean of the highest and the lowest worth.
function leansOf(labels: readonly (readonly [string, number])[]): [string, number][] {
  const worths = labels.map(([, worth]) => worth);
  const neutral = labels.filter(([label]) => label.toLowerCase() === 'neutral').map(([, worth]) => worth);
  const middle = neutral.length > 0 ? Math.max(...neutral) : (Math.max(...worths) + Math.min(...worths)) / 2;
  return labels.map(([label, worth]) => [label, Math.sign(worth - middle)]);
}

const FIRST_PLACE = `first_place AS MATERIALIZED (
  ${responseSums.first_place()}
)`;

// A response that lists a competitor twice is one mention, the first.
function namedCte({ scope, measures, mayRepeat }: CellRequest): string {
  const texts = JSON.stringify(measures.map(({ sums }) => sums));
  const columns = [
    'response_id, competitor_id',
    ...(/\bposition\b/.test(texts) ? ['position'] : []),
    ...(/\b(worth|lean)\b/.test(texts) ? ['sentiment'] : []),
  ];
  const sameBrand = onlyBrand(scope) === null ? 'k.of_brand = m.brand_id AND ' : '';
  const where = [...childConditions(scope), ...rareConditions(scope), '_deleted_at IS NULL'];
  return `named AS (
  -- Mentions of currently tracked competitors.
  SELECT ${mayRepeat ? 'DISTINCT ON (response_id, competitor_id) ' : ''}${columns.join(', ')} FROM main.response_competitors m
  SEMI JOIN (SELECT brand_id AS of_brand, id FROM main.competitors WHERE ${inBrands(scope.brands)} AND _deleted_at IS NULL) k
    ON ${sameBrand}k.id = m.competitor_id
  WHERE ${where.join('\n    AND ')}${mayRepeat ? '\n  ORDER BY response_id, competitor_id, ordinal' : ''}
)`;
}

function citedCte(scope: Scope): string {
  const where = [...childConditions(scope), ...rareConditions(scope), '_deleted_at IS NULL'].join('\n    AND ');
  return `cited AS NOT MATERIALIZED (\n  SELECT brand_id, response_id, domain FROM main.response_citations\n  WHERE ${where}\n)`;
}

const OWN_DOMAINS = "own_domains AS MATERIALIZED (SELECT brand_id, domain FROM owners WHERE owner = 'owned')";

/** Returns the condition that two rows of one brand or of several have the same domain. */
export function sameDomain(scope: Scope, one: string, other: string): string {
  const domain = `${one}.domain = ${other}.domain`;
  return onlyBrand(scope) === null ? `${one}.brand_id = ${other}.brand_id AND ${domain}` : domain;
}

function citationCounts(scope: Scope, needsOwn: boolean): string {
  const own = needsOwn ? ['count(o.domain) AS own_citations'] : [];
  const join = needsOwn ? ` LEFT JOIN own_domains o ON ${sameDomain(scope, 'o', 'i')}` : '';
  const columns = ['response_id', 'count(*) AS citations', 'count(i.domain) AS named_citations', ...own];
  return `SELECT ${columns.join(', ')} FROM cited i${join} GROUP BY response_id`;
}
