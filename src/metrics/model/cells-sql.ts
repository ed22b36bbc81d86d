import { literal } from '../../warehouse/schema.ts';
import { alignedDay, answerCtes, type CellRequest, labelColumns, PARTS, sameDomain } from './answers-sql.ts';
import { dimensions } from './dimensions.ts';
import type { Measure } from './measures.ts';
import { gapCondition, inBrands, onlyBrand } from './scope-sql.ts';

/** Returns the group columns of `sums`: the keys of the dimensions and `period`. */
export function keysOf({ groupBy, grain }: Pick<CellRequest, 'groupBy' | 'grain'>): string[] {
  const keys = dimensions.filter(({ name }) => groupBy.includes(name)).map(({ key }) => key);
  // Entities belong to a brand.
  const ofBrand = groupBy.includes('entity') && !groupBy.includes('brand') ? ['brand_id'] : [];
  return [...(grain === null ? [] : ['period']), ...ofBrand, ...keys];
}

/**
 * Returns the CTEs that end with `sums`: one row per group, period and measure with `n` sample units, the sums `part` of y and
 * `whole` of x, and of their products `yy`, `xy` and `xx`. `is_fraction` is whether a ratio is from 0 to 1. `empty` is `emptyValue`.
 */
export function cellCtes(request: CellRequest): string[] {
  const { groupBy, measures } = request;
  const ofTraffic = measures.filter(({ sums }) => sums.traffic !== undefined);
  const others = measures.filter(({ sums }) => sums.traffic === undefined);
  const ctes: string[] = [];
  const parts: string[] = [];
  if (others.length > 0) {
    ctes.push(...answerCtes(request));
    if (groupBy.includes('entity')) ctes.push(...entityCtes(request));
    else if (groupBy.includes('domain') || groupBy.includes('owner')) ctes.push(...domainCtes(request));
    else ctes.push(responseCells(request));
    parts.push(sumsOf('cells', others, request));
  }
  if (ofTraffic.length > 0) {
    ctes.push(connectedCte(request), trafficCells(request, ofTraffic));
    parts.push(sumsOf('traffic_cells', ofTraffic, request));
  }
  return [...ctes, `sums AS (\n  ${parts.join('\n  UNION ALL\n  ')}\n)`];
}

// One row of the cells has six columns per measure, numbered by measure. The measures are of one family.
function sumsOf(cells: string, measures: readonly Measure[], request: CellRequest): string {
  const keys = keysOf(request)
    .map((key) => `${key}, `)
    .join('');
  const [isGap = null] = measures.map((measure) => gapOf(measure, request));
  const each = measures.map((measure) => {
    const { name, kind, unit } = measure;
    const empty = `CAST(${emptyBefore(measure, request)} AS DOUBLE)`;
    return `{measure: ${literal(name)}, kind: ${literal(kind)}, is_fraction: ${kind === 'ratio' && unit === 'ratio'}, empty: ${empty}, n: ${name}_n, part: ${name}_part, whole: ${name}_whole, yy: ${name}_yy, xy: ${name}_xy, xx: ${name}_xx}`;
  });
  return `SELECT ${keys}is_before, unnest([\n    ${each.join(',\n    ')}\n  ], recursive := true) FROM ${cells}${isGap === null ? '' : ` WHERE NOT (is_before AND ${isGap})`}`;
}

/** Returns SQL like that of `emptyValue`, for the period of comparison: null if the group has no comparison. */
export function emptyBefore(
  measure: Measure,
  request: Pick<CellRequest, 'groupBy' | 'grain' | 'scope'>,
  alias = '',
): string {
  const isGap = gapOf(measure, request, alias);
  const empty = emptyValue(measure, request, alias);
  return isGap === null ? empty : `CASE WHEN NOT (${isGap}) THEN ${empty} END`;
}

// The condition that a group has no comparison; null if each has one.
function gapOf(
  { family }: Measure,
  request: Pick<CellRequest, 'groupBy' | 'grain' | 'scope'>,
  alias = '',
): string | null {
  return gapCondition(request.scope, family, keysOf(request).includes('brand_id') ? `${alias}brand_id` : null);
}

/**
 * Returns SQL of the value of a measure in a group without rows: 0 for a count, except that visits of brands without a connected analytics
 * property are not known. `alias` is the table of the group columns.
 */
export function emptyValue(measure: Measure, request: Pick<CellRequest, 'groupBy' | 'grain'>, alias = ''): string {
  if (measure.kind !== 'count') return 'NULL';
  if (measure.sums.traffic === undefined) return '0';
  const isKnown = keysOf(request).includes('brand_id')
    ? `${alias}brand_id IN (SELECT brand_id FROM connected)`
    : 'EXISTS (SELECT 1 FROM connected)';
  return `CASE WHEN ${isKnown} THEN 0 END`;
}

interface Sums {
  readonly n: string;
  readonly part: string;
  readonly whole?: string;
  readonly yy?: string;
  readonly xy?: string;
  readonly xx?: string;
}

function columnsOf(measure: Measure, sums: Sums): string {
  const { name, kind } = measure;
  const column = (sql: string | undefined, as: string): string => `CAST(${sql ?? 'NULL'} AS DOUBLE) AS ${name}_${as}`;
  const isRatio = kind === 'ratio';
  return [
    `CAST(${sums.n} AS BIGINT) AS ${name}_n`,
    column(sums.part, 'part'),
    column(kind === 'count' ? undefined : sums.whole, 'whole'),
    column(isRatio ? sums.yy : undefined, 'yy'),
    column(isRatio ? sums.xy : undefined, 'xy'),
    column(isRatio ? sums.xx : undefined, 'xx'),
  ].join(', ');
}

// Sums over rows, each a sample unit unless y is null.
function overRows(measure: Measure, y: string, x: string | undefined): Sums {
  if (measure.kind !== 'ratio') return { n: `count(${y})`, part: `coalesce(sum(${y}), 0)`, whole: `count(${y})` };
  const part = `coalesce(sum(${y}), 0)`;
  const yy = `sum((${y}) * (${y}))`;
  if (x === undefined) return { n: `count(${y})`, part, whole: `count(${y})`, yy, xy: part, xx: `count(${y})` };
  return { n: `count(${y})`, part, whole: `sum(${x})`, yy, xy: `sum((${x}) * (${y}))`, xx: `sum((${x}) * (${x}))` };
}

function responseCells(request: CellRequest): string {
  const keys = keysOf(request)
    .map((key) => `${key}, `)
    .join('');
  const columns = request.measures.flatMap((measure) => {
    const { response } = measure.sums;
    return response === undefined ? [] : [columnsOf(measure, overRows(measure, response.y, response.x))];
  });
  return `cells AS (\n  SELECT ${keys}is_before,\n    ${columns.join(',\n    ')}\n  FROM answers GROUP BY ALL\n)`;
}

function entityCtes(request: CellRequest): string[] {
  const { measures, scope } = request;
  const unit = keysOf(request).filter((key) => key !== 'competitor_id');
  const keys = unit.map((key) => `${key}, `).join('');
  const needsVoices = measures.some(({ sums }) => sums.entity?.units === 'voiced');
  const columns = measures.map((measure) => {
    const { y, units } = measure.sums.entity ?? { y: 'NULL', units: 'mention' };
    const rows = overRows(measure, y, units === 'voiced' ? 'voices' : undefined);
    return columnsOf(measure, rows);
  });
  const whole = measures.map((measure) => {
    const { units } = measure.sums.entity ?? { units: 'mention' };
    const { name } = measure;
    const own = (suffix: string): string => `coalesce(m.${name}_${suffix}, 0)`;
    const part = { part: own('part'), yy: own('yy'), xy: own('xy') };
    if (units === 'response') return columnsOf(measure, { ...part, n: 'a.responses', whole: 'a.responses' });
    if (units === 'voiced') return columnsOf(measure, { ...part, n: 'a.voiced', whole: 'a.voices', xx: 'a.voices2' });
    return columnsOf(measure, { ...part, n: own('n'), whole: own('whole'), xx: own('xx') });
  });
  const hasPosition = measures.some(({ sums }) => /\bposition\b/.test(JSON.stringify(sums)));
  const replaced = [
    'true AS mentioned',
    ...(hasPosition ? ['n.position AS position'] : []),
    ...labelColumns(request, 'n.sentiment'),
  ].join(', ');
  const joined = [...unit, 'is_before'].map((key) => `m.${key} IS NOT DISTINCT FROM a.${key}`).join(' AND ');
  return [
    `groups AS (
  SELECT ${keys}is_before, count(*) AS responses${
    needsVoices ? ', count(nullif(voices, 0)) AS voiced, sum(voices) AS voices, sum(voices * voices) AS voices2' : ''
  }
  FROM answers GROUP BY ALL
)`,
    `entities AS (
  SELECT brand_id, 'brand' AS entity_type, CAST(NULL AS UUID) AS competitor_id, name AS entity FROM mart.dim_brand WHERE ${inBrands(scope.brands)}
  UNION ALL SELECT brand_id, 'competitor', competitor_id, name FROM mart.dim_competitor WHERE ${inBrands(scope.brands)}
)`,
    `mentioned AS (
  SELECT *, CAST(NULL AS UUID) AS competitor_id FROM answers WHERE mentioned
  UNION ALL SELECT a.* REPLACE (${replaced}), n.competitor_id FROM answers a JOIN named n USING (response_id)
)`,
    `mention_sums AS (\n  SELECT ${keys}is_before, competitor_id,\n    ${columns.join(',\n    ')}\n  FROM mentioned GROUP BY ALL\n)`,
    `cells AS (
  SELECT ${unit.map((key) => `a.${key}, `).join('')}a.is_before, e.competitor_id,
    ${whole.join(',\n    ')}
  FROM groups a
  JOIN entities e ON e.brand_id = a.brand_id
  LEFT JOIN mention_sums m ON m.competitor_id IS NOT DISTINCT FROM e.competitor_id AND ${joined}
)`,
  ];
}

function domainCtes(request: CellRequest): string[] {
  const { measures, groupBy, scope } = request;
  const parts = dimensions.filter(({ name }) => groupBy.includes(name) && PARTS.includes(name)).map(({ key }) => key);
  const unit = keysOf(request).filter((key) => !parts.includes(key));
  const keys = unit.map((key) => `${key}, `).join('');
  // A domain has one owner in a brand, which is then joined with the sums of the domain.
  const isLate = parts.includes('domain') && parts.includes('owner') && onlyBrand(scope) !== null;
  const counted = parts.filter((part) => !isLate || part !== 'owner');
  const columns = measures.map((measure) => {
    const { y, units } = measure.sums.domain ?? { y: 'NULL', units: 'pair' };
    return columnsOf(measure, overRows(measure, y, units === 'citing' ? 'named_citations' : undefined));
  });
  const whole = measures.map((measure) => {
    const { name } = measure;
    const part = { part: `m.${name}_part`, yy: `m.${name}_yy`, xy: `m.${name}_xy` };
    if (measure.sums.domain?.units === 'citing')
      return columnsOf(measure, { ...part, n: 'a.citing', whole: 'a.citations', xx: 'a.citations2' });
    return columnsOf(measure, { ...part, n: `m.${name}_n` });
  });
  const joined = [...unit, 'is_before'].map((key) => `m.${key} IS NOT DISTINCT FROM a.${key}`).join(' AND ');
  return [
    `groups AS (
  SELECT ${keys}is_before, count(nullif(named_citations, 0)) AS citing, sum(named_citations) AS citations, sum(named_citations * named_citations) AS citations2
  FROM answers GROUP BY ALL
)`,
    `pairs AS (
  SELECT c.response_id, ${counted.map((part) => `${part === 'domain' ? 'c' : 'o'}.${part}, `).join('')}count(*) AS cited
  FROM cited c${counted.includes('owner') ? ` JOIN owners o ON ${sameDomain(scope, 'o', 'c')}` : ''}
  WHERE c.domain IS NOT NULL GROUP BY ALL
)`,
    `citation_sums AS (
  SELECT ${keys}is_before, ${counted.map((part) => `${part}, `).join('')}
    ${columns.join(',\n    ')}
  FROM answers JOIN pairs USING (response_id) GROUP BY ALL
)`,
    `cells AS (
  SELECT ${unit.map((key) => `a.${key}, `).join('')}a.is_before, ${parts.map((part) => `${counted.includes(part) ? 'm' : 'o'}.${part}, `).join('')}
    ${whole.join(',\n    ')}
  FROM groups a JOIN citation_sums m ON ${joined}${isLate ? ' JOIN owners o ON o.domain = m.domain' : ''}
)`,
  ];
}

// The brands with a connected analytics property, by the newest report as in the query traffic_property.
function connectedCte({ scope }: CellRequest): string {
  return `connected AS (
  SELECT brand_id FROM main.traffic_totals WHERE ${inBrands(scope.brands)} AND _deleted_at IS NULL
  GROUP BY brand_id HAVING coalesce(arg_max(connected, (_synced_at, range_to)), false)
)`;
}

function trafficCells(request: CellRequest, measures: readonly Measure[]): string {
  const keys = keysOf(request)
    .map((key) => `${key}, `)
    .join('');
  const columns = measures.map((measure) => {
    const y = measure.sums.traffic?.y ?? 'NULL';
    const sums = overRows(measure, y, undefined);
    // Amounts in different currencies are not added. The order makes the sum of fractions the same each time.
    const amount = `CASE WHEN bool_and(is_one_currency) THEN coalesce(sum(${y} ORDER BY brand_id, day, source), 0) END`;
    const part = measure.unit === 'currency' ? amount : sums.part;
    return columnsOf(measure, { ...sums, part, n: 'count(DISTINCT (brand_id, day))' });
  });
  const rows = measures.some(({ unit }) => unit === 'currency')
    ? inOneCurrency(trafficRows(request), keysOf(request))
    : trafficRows(request);
  return `traffic_cells AS (
  SELECT ${keys}is_before,
    ${columns.join(',\n    ')}
  FROM (
    ${rows}
  ) GROUP BY ALL
)`;
}

// The rows of both periods.
function trafficRows({ scope, grain }: CellRequest): string {
  const { before } = scope;
  const within = (from: string, to: string): string =>
    `${inBrands(scope.brands)} AND day BETWEEN DATE '${from}' AND DATE '${to}'`;
  const period = grain === null ? '' : `, CAST(date_trunc(${literal(grain)}, ${alignedDay(scope)}) AS DATE) AS period`;
  const compared =
    before === null
      ? ''
      : `\n      UNION ALL SELECT *, true FROM mart.fct_traffic_daily WHERE ${within(before.from, before.to)}`;
  return `SELECT *${period} FROM (
      SELECT *, false AS is_before FROM mart.fct_traffic_daily WHERE ${within(scope.from, scope.to)}${compared}
    ) s`;
}

// Adds whether the revenue of a group, in all its periods, has one currency. A brand without a reported currency has its own one.
function inOneCurrency(rows: string, keys: readonly string[]): string {
  const partition = keys.filter((key) => key !== 'period').join(', ');
  return `SELECT *, coalesce(min(money) OVER w = max(money) OVER w, true) AS is_one_currency FROM (
      SELECT *, CASE WHEN revenue <> 0 THEN coalesce(currency, max(currency) OVER (PARTITION BY brand_id), CAST(brand_id AS VARCHAR)) END AS money
      FROM (${rows})
    ) WINDOW w AS (${partition === '' ? '' : `PARTITION BY ${partition}`})`;
}
