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

/** Counts the stored responses by day and engine. */
export async function readStoredDays(
  query: Query,
  scope: DaysRead,
  rules: { readonly mayRepeat: boolean; readonly counting: Counting },
): Promise<ByDay<GroupTally>> {
  const groups = await tally(query, { ...scope, ...rules, declared: {}, values: {} }, 'day-and-engine');
  const byDay = new Map<string, Map<string, GroupTally>>();
  for (const group of groups) {
    const [day, engine] = group.key;
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

// The responses of an engine are those of the brand's row.
function responsesOf(rows: readonly Row[]): number {
  const own = rows.filter((row) => (row['competitorId'] ?? null) === null);
  return Math.max(0, ...(own.length > 0 ? own : rows).map((row) => Number(row['responses'] ?? 0)));
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
  const named = (row: Row): Row => ({
    ...row,
    name: `${engine}, ${String(row['name'] ?? row['competitorId'] ?? 'the brand')}`,
  });
  const computed = (row: Row): Row => {
    const id = row['competitorId'] ?? null;
    const counted = id === null ? group.own : group.competitors.get(String(id));
    const counts = counted ?? { ...nothing, responses: group.own.responses };
    return { ...named(row), ...counts, ...entityNumbers(exact, counts, all) };
  };
  const ours = [...rows, ...brand.competitors].map((row) => computed({ ...row }));
  // Share of voice is comparable only if upstream counts the same mentions of the same competitors.
  const sameVoices =
    listsAllEntities(brand, rows) &&
    !rows.some((row, index) => comparison.countDiffers(row[MENTIONS], Number(ours[index]?.[MENTIONS])));
  return compareRows(kind, [rows.map(named), ours], comparison, { ...usable, shareOfVoice: sameVoices }).differences;
}

/** Returns the days or engines that either side has, in order. */
export function namesOf(...sides: readonly ReadonlyMap<string, unknown>[]): string[] {
  return [...new Set(sides.flatMap((side) => [...side.keys()]))].sort();
}
