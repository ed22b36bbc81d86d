import { createHash } from 'node:crypto';
import type { Catalogue } from '../../contract/catalogue.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import { addDays } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import type { Audit, Comparison } from '../../warehouse/ledger/audits.ts';
import { readShapes } from '../../warehouse/ledger/shapes.ts';
import { quoted } from '../../warehouse/schema.ts';
import { isSame } from '../calibration/candidates.ts';
import type { Conventions } from '../calibration/conventions.ts';
import { answerTables, type GroupTally, mayRepeatMentions } from '../numbers/aggregate.ts';
import { avgPosition, sentiment } from '../numbers/definitions.ts';
import { namesOf, type ReportedRow, readReportedDays, readStoredDays, responsesOf } from './day-figures.ts';

/** Changed days at most this far apart are counted in one query. With more ranges than the limit, one query counts all. */
const GAP_DAYS = 7;
const RANGES_MAX = 8;

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

interface Figures {
  readonly responses: number;
  readonly mentions: number | null;
  readonly avgPosition: number | null;
  readonly sentiment: number | null;
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
      const entities = entitiesOf(reported.get(day) ?? new Map(), stored.get(day) ?? new Map(), rules);
      audits.set(day, { ...compareDay(day, entities, rules), mark: marks.get(day) ?? null });
    }
  }
  return { days: [...marks.keys()].flatMap((day) => audits.get(day) ?? []), uncounted: rules.uncounted };
}

// Engines with stored responses that upstream counts on no day, and never has, while it counts other engines.
async function readUncountedEngines(
  query: Query,
  { catalogue, brandId }: Pick<DayCountsScope, 'catalogue' | 'brandId'>,
): Promise<string[]> {
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
interface Rules {
  /** Engines whose responses are not compared. */
  readonly uncounted: readonly string[];
  readonly mayRepeat: boolean;
  readonly counting: Conventions;
  readonly learned: DayCountsScope['learned'];
  /** Competitors that are tracked now. */
  readonly tracked: ReadonlySet<string>;
}

async function readRules(query: Query, { catalogue, brandId, conventions, learned }: DayCountsScope): Promise<Rules> {
  const mayRepeat = mayRepeatMentions(await readShapes(query));
  const uncounted = await readUncountedEngines(query, { catalogue, brandId });
  const tracked = await readTracked(query, catalogue, brandId);
  return { uncounted, mayRepeat, counting: conventions, learned, tracked };
}

// Returns the days present on either side, in order, each with a hash of everything its comparison depends on. The
// hash combines the 64-bit hashes of the source items, so a collision of two different sets of rows is negligible.
async function readMarks(
  query: Query,
  { catalogue, brandId, from, to }: DayCountsScope,
  { uncounted, mayRepeat, counting, learned, tracked }: Rules,
): Promise<Map<string, string>> {
  const { answers } = answerTables(catalogue);
  const rules = JSON.stringify([counting, [...learned].sort(), mayRepeat, [...tracked].sort(), ...uncounted]);
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

async function readTracked(query: Query, catalogue: Catalogue, brandId: string): Promise<Set<string>> {
  const table = catalogue.get('competitors').derived[0] as ResourceTable;
  const rows = await query(
    `SELECT CAST(id AS VARCHAR) FROM ${quoted(table.name)} WHERE brand_id = CAST($1 AS UUID) AND _deleted_at IS NULL`,
    [brandId],
  );
  return new Set(rows.map(([id]) => String(id)));
}

/** An entity on a day and engine; null on a side that does not list it. */
interface Entity {
  readonly engine: string;
  /** Empty for the brand. */
  readonly id: string;
  readonly upstream: Figures | null;
  readonly stored: Figures | null;
}

function entitiesOf(
  reported: ReadonlyMap<string, readonly ReportedRow[]>,
  stored: ReadonlyMap<string, GroupTally>,
  { counting, uncounted }: Rules,
): Entity[] {
  return namesOf(reported, stored).flatMap((engine) => {
    const rows = (reported.get(engine) ?? []).filter((row) => responsesOf([row]) > 0);
    const upstream = new Map(rows.map((row) => [row.competitorId ?? '', figuresOf(row)]));
    const group = uncounted.includes(engine) ? undefined : stored.get(engine);
    const counts = group === undefined ? [] : [['', group.own] as const, ...group.competitors];
    const ours = new Map(
      counts.map(([id, of]) => [
        id,
        figuresOf({ ...of, avgPosition: avgPosition(counting, of), sentiment: sentiment(counting, of) }),
      ]),
    );
    return namesOf(upstream, ours).map((id) => ({
      engine,
      id,
      upstream: upstream.get(id) ?? null,
      stored: ours.get(id) ?? null,
    }));
  });
}

function figuresOf(row: Readonly<Record<keyof Figures, unknown>>): Figures {
  const numberOf = (value: unknown): number | null => (value === null ? null : Number(value));
  return {
    responses: Number(row.responses),
    mentions: numberOf(row.mentions),
    avgPosition: numberOf(row.avgPosition),
    sentiment: numberOf(row.sentiment),
  };
}

function compareDay(day: string, entities: readonly Entity[], rules: Rules): Omit<Comparison, 'mark'> {
  return {
    day,
    upstream: responsesOn(entities, 'upstream'),
    stored: responsesOn(entities, 'stored'),
    agreed: entities.every((entity) => agrees(entity, rules)),
    figures: hashOf(JSON.stringify(entities)),
  };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

// An entity listed on one side only has 0 mentions on the other.
function agrees({ id, upstream, stored }: Entity, { learned, tracked }: Rules): boolean {
  const isBrand = id === '';
  if (isBrand && (upstream?.responses ?? 0) !== (stored?.responses ?? 0)) return false;
  const mentions = stored?.mentions ?? 0;
  // Upstream counts mentions of currently tracked competitors only; responses also name former ones.
  if (upstream === null) return isBrand || !tracked.has(id) || mentions === 0;
  if (upstream.mentions !== null && upstream.mentions !== mentions) return false;
  const means = ['avgPosition', 'sentiment'] as const;
  // A mean without mentions is a placeholder, which has its own convention (`emptyMean`).
  if (mentions === 0) return true;
  return means.every((name) => {
    const isKnown = name === 'sentiment' ? learned.has('sentiment') && learned.has('labels') : learned.has(name);
    return !isKnown || isSame(upstream[name], stored?.[name] ?? null);
  });
}

// Every entity of an engine has the number of responses of the engine.
function responsesOn(entities: readonly Entity[], side: 'upstream' | 'stored'): number {
  const byEngine = new Map<string, number>();
  for (const { engine, [side]: figures } of entities)
    byEngine.set(engine, Math.max(byEngine.get(engine) ?? 0, figures?.responses ?? 0));
  return [...byEngine.values()].reduce((sum, responses) => sum + responses, 0);
}
