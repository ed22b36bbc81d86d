import { createHash } from 'node:crypto';
import type { Catalogue } from '../../contract/catalogue.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import { addDays } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import type { Audit, Comparison } from '../../warehouse/ledger/audits.ts';
import { readShapes } from '../../warehouse/ledger/shapes.ts';
import { quoted } from '../../warehouse/schema.ts';
import type { Conventions } from '../calibration/conventions.ts';
import { answerTables, mayRepeatMentions } from '../numbers/aggregate.ts';
import { readReportedBrand } from '../numbers/brand.ts';
import { createComparison, MENTIONS, type RowKind, type VerifyScope } from './comparison.ts';
import { compareDay, type DayScope, readReportedDays, readStoredDays } from './day-figures.ts';

/** Changed days at most this far apart are counted in one query. With more ranges than the limit, one query counts all. */
const GAP_DAYS = 7;
const RANGES_MAX = 8;

/** The numbers that prove a day; the others follow from them. */
const PROVEN_BY: RowKind = {
  key: 'competitorId',
  name: 'name',
  counts: [MENTIONS],
  unmatched: 'own',
  numbers: { avgPosition: 'avgPosition', sentiment: 'sentiment' },
  // A mean without mentions is a placeholder, which has its own convention (`emptyMean`).
  comparesNumbers: ({ mentions }) => Number(mentions) > 0,
};

/** The brand, days and conventions of one comparison of day counts. */
export interface DayCountsScope {
  readonly catalogue: Catalogue;
  readonly brandId: string;
  readonly from: string;
  readonly to: string;
  readonly conventions: Conventions;
  /** Names of calibrated conventions. Only their means can reveal a corrected response. */
  readonly learned: ReadonlySet<string>;
  /** Earlier results by day. Days unchanged on both sides are not counted again. */
  readonly audits: ReadonlyMap<string, Audit>;
}

/**
 * Compares upstream's day counts with the stored responses for every day in the range that has either. A day agrees
 * if all its figures agree: responses by engine, mentions by entity, and the means whose conventions are calibrated.
 * Days without day counts have 0 responses. `uncounted` are the engines that the comparison leaves out.
 */
export async function compareDayCounts(
  query: Query,
  scope: DayCountsScope,
): Promise<{ days: Comparison[]; uncounted: readonly string[] }> {
  const rules = await readRules(query, scope);
  const marks = await readMarks(query, scope, rules);
  const audits = new Map<string, Comparison>();
  const changed: string[] = [];
  for (const [day, mark] of marks) {
    const known = scope.audits.get(day);
    if (known?.mark === mark) audits.set(day, known);
    else changed.push(day);
  }
  for (const range of rangesOf(changed)) {
    const reported = await readReportedDays(query, { ...scope, ...range });
    const stored = await readStoredDays(query, { ...scope, ...range }, rules);
    for (const day of changed.filter((candidate) => range.from <= candidate && candidate <= range.to)) {
      const { differences, ...responses } = compareDay(rules, reported.get(day), stored.get(day));
      const figures = hashOf(JSON.stringify([responses, differences]));
      audits.set(day, { day, ...responses, agreed: differences.length === 0, figures, mark: marks.get(day) ?? null });
    }
  }
  return { days: [...marks.keys()].flatMap((day) => audits.get(day) ?? []), uncounted: rules.uncounted };
}

/** Returns the engines with stored responses that upstream counts on no day, and never has, while it counts other engines. */
export async function readUncountedEngines(query: Query, catalogue: Catalogue, brandId: string): Promise<string[]> {
  const { answers } = answerTables(catalogue);
  // Deleted counts are included: an engine whose counts have vanished is a difference.
  const rows = await query(
    `WITH counted AS (
       SELECT DISTINCT engine FROM ${quoted(dailyTable(catalogue).name)}
       WHERE brand_id = CAST($1 AS UUID) AND row_mode = 'engine' AND responses > 0 AND engine IS NOT NULL)
     SELECT DISTINCT engine FROM ${quoted(answers.name)} WHERE brand_id = CAST($1 AS UUID) AND _deleted_at IS NULL
       AND engine IS NOT NULL AND EXISTS (FROM counted) AND engine NOT IN (FROM counted) ORDER BY engine`,
    [brandId],
  );
  return rows.map(([engine]) => String(engine));
}

/** Inputs of the comparison besides the rows of both sides. */
interface Rules extends DayScope, Pick<VerifyScope, 'mayRepeat' | 'uncounted'> {
  readonly counting: Conventions;
  readonly learned: DayCountsScope['learned'];
}

async function readRules(query: Query, { catalogue, brandId, conventions, learned }: DayCountsScope): Promise<Rules> {
  const mayRepeat = mayRepeatMentions(await readShapes(query));
  const uncounted = await readUncountedEngines(query, catalogue, brandId);
  const brand = await readReportedBrand(query, catalogue, brandId, null, conventions);
  const comparison = createComparison(conventions, learned);
  return { uncounted, mayRepeat, counting: conventions, learned, brand, comparison, kind: PROVEN_BY };
}

// Returns the days present on either side, in order, each with a hash of everything its comparison depends on. The
// hash combines the 64-bit hashes of the source items, so a collision of two different sets of rows is negligible.
async function readMarks(
  query: Query,
  { catalogue, brandId, from, to }: DayCountsScope,
  { uncounted, mayRepeat, counting, learned, brand }: Rules,
): Promise<Map<string, string>> {
  const { answers } = answerTables(catalogue);
  // Upstream counts mentions of currently tracked competitors only; responses also name former ones.
  const tracked = brand.competitors.map(({ competitorId }) => competitorId).sort();
  const rules = JSON.stringify([counting, [...learned].sort(), mayRepeat, tracked, ...uncounted]);
  const rows = await query(
    `WITH stored AS (
       SELECT CAST(created_at AS DATE) AS day, concat(count(*), ' ', bit_xor(hash(id, _row_hash))) AS rows
       FROM ${quoted(answers.name)} WHERE brand_id = CAST($1 AS UUID) AND _deleted_at IS NULL
         AND created_at >= CAST($2 AS DATE) AND created_at < CAST($3 AS DATE) + INTERVAL 1 DAY GROUP BY 1),
     reported AS (
       SELECT date AS day, concat(count(*), ' ', bit_xor(hash(engine, competitor_id, _row_hash))) AS rows
       FROM ${quoted(dailyTable(catalogue).name)} WHERE ${REPORTED} GROUP BY 1)
     SELECT strftime(day, '%Y-%m-%d'), reported.rows, stored.rows FROM reported FULL JOIN stored USING (day) ORDER BY day`,
    [brandId, from, to],
  );
  return new Map(
    rows.map(([day, reported, stored]) => [String(day), hashOf(JSON.stringify([rules, reported, stored]))]),
  );
}

function rangesOf(days: readonly string[]): { from: string; to: string }[] {
  const ranges: { from: string; to: string }[] = [];
  for (const day of days) {
    const last = ranges.at(-1);
    if (last !== undefined && day <= addDays(last.to, GAP_DAYS)) last.to = day;
    else ranges.push({ from: day, to: day });
  }
  const [first, last] = [ranges[0], ranges.at(-1)];
  if (first === undefined || last === undefined || ranges.length <= RANGES_MAX) return ranges;
  return [{ from: first.from, to: last.to }];
}

// Upstream's counts by engine for brand $1, from day $2 to day $3.
const REPORTED = `brand_id = CAST($1 AS UUID) AND row_mode = 'engine' AND _deleted_at IS NULL
  AND date >= CAST($2 AS DATE) AND date <= CAST($3 AS DATE) AND responses > 0`;

function dailyTable(catalogue: Catalogue): ResourceTable {
  return catalogue.get('metrics_daily').derived[0] as ResourceTable;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
