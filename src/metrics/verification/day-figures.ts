import type { Catalogue } from '../../contract/catalogue.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import { createBindings, liveConditions, rangeCondition } from '../../warehouse/conditions.ts';
import type { Query } from '../../warehouse/database.ts';
import { quoted } from '../../warehouse/schema.ts';
import { type Counting, type GroupTally, tally } from '../numbers/aggregate.ts';

/** The numbers of an entity on a day and engine, as upstream reported them. */
export interface ReportedRow {
  /** Null for the brand. */
  readonly competitorId: string | null;
  readonly name: string | null;
  readonly responses: unknown;
  readonly mentions: unknown;
  readonly visibility: unknown;
  readonly shareOfVoice: unknown;
  readonly avgPosition: unknown;
  readonly sentiment: unknown;
}

/** By day, then by engine; the empty text stands for no engine. */
export type ByDay<T> = ReadonlyMap<string, ReadonlyMap<string, T>>;

/** The days of a brand to read. */
export interface DaysScope {
  readonly catalogue: Catalogue;
  readonly brandId: string;
  readonly from: string;
  readonly to: string;
}

/** Reads upstream's last reports by day and engine. */
export async function readReportedDays(
  query: Query,
  { catalogue, brandId, ...range }: DaysScope,
): Promise<ByDay<readonly ReportedRow[]>> {
  const table = catalogue.get('metrics_daily').derived[0] as ResourceTable;
  const bindings = createBindings();
  const where = [...liveConditions('t', brandId, bindings), rangeCondition('t.date', range, bindings)];
  const rows = await query(
    `SELECT strftime(t.date, '%Y-%m-%d'), t.engine, CAST(t.competitor_id AS VARCHAR), t.name, t.responses, t.mentions,
       t.visibility, t.share_of_voice, t.avg_position, t.sentiment
     FROM ${quoted(table.name)} t WHERE ${where.join(' AND ')} AND t.row_mode = 'engine'`,
    bindings.values,
  );
  const byDay = new Map<string, Map<string, ReportedRow[]>>();
  for (const [day, engine, competitorId, name, responses, mentions, ...ratios] of rows) {
    const [visibility, shareOfVoice, avgPosition, sentiment] = ratios;
    const row: ReportedRow = {
      competitorId: competitorId as string | null,
      name: name as string | null,
      ...{ responses, mentions, visibility, shareOfVoice, avgPosition, sentiment },
    };
    const engines = byDay.get(String(day)) ?? new Map<string, ReportedRow[]>();
    byDay.set(String(day), engines);
    engines.set(String(engine ?? ''), [...(engines.get(String(engine ?? '')) ?? []), row]);
  }
  return byDay;
}

/** Counts the stored responses by day and engine. */
export async function readStoredDays(
  query: Query,
  scope: DaysScope,
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

/** Returns upstream's number of responses on a day and engine. */
export function responsesOf(rows: readonly ReportedRow[]): number {
  return Math.max(0, ...rows.map(({ responses }) => Number(responses ?? 0)));
}

/** Returns the days or engines that either side has, in order. */
export function namesOf(...sides: readonly ReadonlyMap<string, unknown>[]): string[] {
  return [...new Set(sides.flatMap((side) => [...side.keys()]))].sort();
}
