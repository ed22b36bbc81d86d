import type { Catalogue } from '../../contract/catalogue.ts';
import type { Query } from '../../warehouse/database.ts';
import { type Counting, type GroupTally, tally } from '../numbers/aggregate.ts';
import type { MentionCounts } from '../numbers/definitions.ts';
import { mentionsOfAll, nothing } from '../numbers/report-request.ts';
import { entityNumbers } from '../numbers/visibility.ts';
import {
  compareRows,
  type Difference,
  listsAllEntities,
  MENTIONS,
  type Row,
  type RowKind,
  type Usable,
  type VerifyScope,
} from './comparison.ts';
import { readReportedRows } from './reported-rows.ts';

/** By day, then by engine; the empty text stands for no engine. */
export type ByDay<T> = ReadonlyMap<string, ReadonlyMap<string, T>>;

/** The days of a brand to read. */
export interface DaysRead {
  readonly catalogue: Catalogue;
  readonly brandId: string;
  readonly from: string;
  readonly to: string;
}

/** Reads upstream's last reports by day and engine. */
export async function readReportedDays(query: Query, scope: DaysRead): Promise<ByDay<readonly Row[]>> {
  const rows = await readReportedRows(query, { ...scope, resource: 'metrics_daily', by: 'engine' });
  const byDay = new Map<string, Map<string, Row[]>>();
  for (const row of rows) {
    const [day, engine] = [String(row['date']), String(row['engine'] ?? '')];
    const engines = byDay.get(day) ?? new Map<string, Row[]>();
    byDay.set(day, engines);
    engines.set(engine, [...(engines.get(engine) ?? []), row]);
  }
  return byDay;
}

/** Counts the stored responses by day and engine, without engines that upstream never counts. */
export async function readStoredDays(
  query: Query,
  scope: DaysRead,
  { uncounted, ...rules }: Pick<VerifyScope, 'mayRepeat' | 'uncounted'> & { readonly counting: Counting },
): Promise<ByDay<GroupTally>> {
  const groups = await tally(query, { ...scope, ...rules, declared: {}, values: {} }, 'day-and-engine');
  const byDay = new Map<string, Map<string, GroupTally>>();
  for (const group of groups) {
    const [day, engine] = group.key;
    if (uncounted.includes(engine ?? '')) continue;
    const engines = byDay.get(String(day)) ?? new Map<string, GroupTally>();
    byDay.set(String(day), engines.set(engine ?? '', group));
  }
  return byDay;
}

/** The comparison of one day. */
export interface DayComparison {
  /** Responses of the day: upstream's count. */
  readonly upstream: number;
  readonly stored: number;
  readonly differences: readonly Difference[];
}

/** Inputs of a comparison of days. */
export interface DayScope extends Pick<VerifyScope, 'brand' | 'comparison'> {
  /** The numbers to compare. */
  readonly kind: RowKind;
}

/**
 * Compares upstream's rows of a day, by engine, with the counts of the stored responses. If the responses of an engine differ, its other
 * numbers are not comparable.
 */
export function compareDay(
  scope: DayScope,
  theirs: ReadonlyMap<string, readonly Row[]> = new Map(),
  ours: ReadonlyMap<string, GroupTally> = new Map(),
  usable: Usable = {},
): DayComparison {
  const engines = namesOf(theirs, ours).map((engine) => {
    const rows = theirs.get(engine) ?? [];
    const group = ours.get(engine) ?? { key: [], own: nothing, competitors: new Map<string, MentionCounts>() };
    const subject = engine === '' ? 'no engine' : engine;
    const upstream = responsesOf(rows);
    const stored = group.own.responses;
    const differences =
      upstream === stored
        ? compareEntities(scope, subject, rows, group, usable)
        : [{ measure: 'responses', subject, upstream, stored }];
    return { upstream, stored, differences };
  });
  return {
    upstream: engines.reduce((sum, { upstream }) => sum + upstream, 0),
    stored: engines.reduce((sum, { stored }) => sum + stored, 0),
    differences: engines.flatMap(({ differences }) => differences),
  };
}

// The responses of an engine are those of the brand's row, or of the others if it has no number.
function responsesOf(rows: readonly Row[]): number {
  const counted = rows.filter((row) => Number(row['responses'] ?? 0) > 0);
  const own = counted.filter((row) => (row['competitorId'] ?? null) === null);
  return Math.max(0, ...(own.length > 0 ? own : counted).map((row) => Number(row['responses'])));
}

function compareEntities(
  { brand, comparison, kind }: DayScope,
  engine: string,
  rows: readonly Row[],
  group: GroupTally,
  usable: Usable,
): Difference[] {
  const { exact } = comparison;
  const all = mentionsOfAll({ brand, conventions: exact }, group);
  const computed = (id: unknown, name: unknown): Row => {
    const counted = id === null ? group.own : group.competitors.get(String(id));
    const { responses } = group.own;
    const counts = counted ?? { ...nothing, responses };
    return { competitorId: id, name, responses, mentions: counts.mentions, ...entityNumbers(exact, counts, all) };
  };
  const idOf = (row: Row): unknown => row['competitorId'] ?? null;
  const listed = new Map(rows.map((row) => [idOf(row), computed(idOf(row), null)]));
  const others = brand.competitors.filter(({ competitorId }) => !listed.has(competitorId));
  const ours = [...listed.values(), ...others.map(({ competitorId, name }) => computed(competitorId, name))];
  // Share of voice is comparable only if upstream counts the same mentions of the same competitors.
  const sameVoices =
    listsAllEntities(brand, rows) &&
    !rows.some((row) => comparison.countDiffers(row[MENTIONS], Number(listed.get(idOf(row))?.[MENTIONS])));
  const { differences } = compareRows(kind, [rows, ours], comparison, { ...usable, shareOfVoice: sameVoices });
  return differences.map((one) => ({ ...one, subject: `${engine}, ${one.subject}` }));
}

/** Returns the days or engines that either side has, in order. */
export function namesOf(...sides: readonly ReadonlyMap<string, unknown>[]): string[] {
  return [...new Set(sides.flatMap((side) => [...side.keys()]))].sort();
}
