import { addDays, eachDay } from '../../contract/time.ts';
import { createBindings, liveConditions, rangeCondition } from '../../warehouse/conditions.ts';
import { quoted } from '../../warehouse/schema.ts';
import { answerTables, type GroupTally } from '../numbers/aggregate.ts';
import { avgPosition, type MentionCounts, sentiment, share } from '../numbers/definitions.ts';
import { mentionsOfAll, nothing } from '../numbers/report-request.ts';
import type { Difference, VerifyScope } from './comparison.ts';
import { namesOf, type ReportedRow, readReportedDays, readStoredDays, responsesOf } from './day-figures.ts';

/** Number of days before today on which upstream may still add or remove responses. */
export const SETTLING_DAYS = 2;

/** The verification of one day of a brand. */
export interface DayVerification {
  readonly day: string;
  /**
   * `settling`: the day was still open when its report was read, or a difference may be due to changes between reading
   * the report and reading the responses. `unreported`: the report was never read.
   */
  readonly status: 'agrees' | 'differs' | 'settling' | 'unreported';
  /** Responses of the day: upstream's count. */
  readonly upstream: number;
  readonly stored: number;
  readonly differences: readonly Difference[];
}

/** By day: when the reports and the responses were last read completely, in epoch milliseconds. */
export interface DayReads {
  readonly reports: ReadonlyMap<string, number>;
  readonly answers: ReadonlyMap<string, number>;
}

/** Verifies every day from the first to the last one in the range with reported rows or stored responses. */
export async function verifyDays(
  scope: VerifyScope,
  reads: DayReads,
  range: { readonly from: string; readonly to: string },
): Promise<DayVerification[]> {
  const { catalogue, query, brand, mayRepeat } = scope;
  const days = { catalogue, brandId: brand.id, ...range };
  const reported = await readReportedDays(query, days);
  const stored = await readStoredDays(query, days, { mayRepeat, counting: scope.comparison.exact });
  const unlabelled = await readDaysOfUnknownWeight(scope, range);
  const named = namesOf(reported, stored);
  const [first, last] = [named[0], named.at(-1)];
  if (first === undefined || last === undefined) return [];
  const verified: DayVerification[] = [];
  for (const day of eachDay(first, last)) {
    const theirs = reported.get(day) ?? new Map<string, readonly ReportedRow[]>();
    const ours = stored.get(day) ?? new Map<string, GroupTally>();
    const differences = compareDay(scope, theirs, ours, !unlabelled.has(day));
    const upstream = sum([...theirs.values()].map(responsesOf));
    const here = sum([...ours.values()].map(({ own }) => own.responses));
    const status = statusOf(day, reads, differences.length === 0, here > upstream);
    verified.push({ day, status, upstream, stored: here, differences: status === 'unreported' ? [] : differences });
  }
  return verified;
}

// If the responses were read after the report, they may include later ones; if before, they may lack some.
function statusOf(day: string, reads: DayReads, agrees: boolean, holdsMore: boolean): DayVerification['status'] {
  const reportedAt = reads.reports.get(day);
  if (reportedAt === undefined) return 'unreported';
  const today = new Date(reportedAt).toISOString().slice(0, 10);
  if (day >= today) return 'settling';
  if (agrees) return 'agrees';
  if (day < addDays(today, -SETTLING_DAYS)) return 'differs';
  const answeredAt = reads.answers.get(day) ?? 0;
  return holdsMore || answeredAt < reportedAt ? 'settling' : 'differs';
}

/** Returns the days with a sentiment label of unknown worth. Their mean sentiment cannot be computed. */
export async function readDaysOfUnknownWeight(
  { catalogue, query, brand, comparison }: VerifyScope,
  range: { from: string; to: string },
): Promise<ReadonlySet<string>> {
  const { answers, competitors } = answerTables(catalogue);
  const bindings = createBindings();
  const where = [...liveConditions('t', brand.id, bindings), rangeCondition('t.created_at', range, bindings)];
  const labels = `CAST(${bindings.bind(Object.keys(comparison.exact.labels))} AS VARCHAR[])`;
  const from = (table: string, label: string): string =>
    `SELECT strftime(t.created_at, '%Y-%m-%d') FROM ${quoted(table)} t
     WHERE ${where.join(' AND ')} AND ${label} IS NOT NULL AND NOT list_contains(${labels}, ${label})`;
  const rows = await query(
    `${from(answers.name, 't.brand_sentiment')} UNION ${from(competitors.name, 't.sentiment')}`,
    bindings.values,
  );
  return new Set(rows.map(([day]) => String(day)));
}

function compareDay(
  scope: VerifyScope,
  theirs: ReadonlyMap<string, readonly ReportedRow[]>,
  ours: ReadonlyMap<string, GroupTally>,
  withSentiment: boolean,
): Difference[] {
  return namesOf(theirs, ours).flatMap((engine) => {
    const rows = theirs.get(engine) ?? [];
    const group = ours.get(engine) ?? { key: [], own: nothing, competitors: new Map<string, MentionCounts>() };
    const label = engine === '' ? 'no engine' : engine;
    const upstream = responsesOf(rows);
    const stored = group.own.responses;
    const counts = upstream === stored ? [] : [{ measure: 'responses', subject: label, upstream, stored }];
    // If the counts differ, the other numbers are not comparable.
    return counts.length > 0 ? counts : compareEntities(scope, label, rows, group, withSentiment);
  });
}

function compareEntities(
  { brand, comparison }: VerifyScope,
  engine: string,
  rows: readonly ReportedRow[],
  group: GroupTally,
  withSentiment: boolean,
): Difference[] {
  const { exact } = comparison;
  const differences: Difference[] = [];
  const all = mentionsOfAll({ brand, conventions: exact }, group);
  const listed = new Set(rows.map(({ competitorId }) => competitorId));
  const isTracked = ({ competitorId }: { competitorId: string | null }): boolean => listed.has(competitorId);
  // Share of voice is comparable only if upstream counts the same competitors.
  const tallyOf = ({ competitorId }: ReportedRow): MentionCounts =>
    (competitorId === null ? group.own : group.competitors.get(competitorId)) ?? {
      ...nothing,
      responses: group.own.responses,
    };
  const sameVoices =
    rows.length === brand.competitors.length + 1 &&
    brand.competitors.every(isTracked) &&
    !rows.some((row) => comparison.countDiffers(row.mentions, tallyOf(row).mentions));
  for (const row of rows) {
    const tallied = tallyOf(row);
    const subject = `${engine}, ${row.name ?? row.competitorId ?? 'the brand'}`;
    const add = (measure: string, upstream: unknown, stored: number | null): void => {
      differences.push({ measure, subject, upstream: typeof upstream === 'number' ? upstream : null, stored });
    };
    if (comparison.countDiffers(row.mentions, tallied.mentions)) {
      add('mentions', row.mentions, tallied.mentions);
      continue;
    }
    const numbers = {
      visibility: share(exact, exact.visibility, tallied.mentions, tallied.responses),
      shareOfVoice: share(exact, exact.shareOfVoice, tallied.mentions, all),
      avgPosition: avgPosition(exact, tallied),
      sentiment: sentiment(exact, tallied),
    };
    for (const measure of ['visibility', 'shareOfVoice', 'avgPosition', 'sentiment'] as const) {
      if ((measure === 'shareOfVoice' && !sameVoices) || (measure === 'sentiment' && !withSentiment)) continue;
      if (comparison.numberDiffers(measure, row[measure], numbers[measure]))
        add(measure, row[measure], numbers[measure]);
    }
  }
  const missing = rows.length === 0 ? [] : brand.competitors.filter((competitor) => !isTracked(competitor));
  for (const { competitorId, name } of missing) {
    const stored = group.competitors.get(competitorId as string)?.mentions ?? 0;
    if (stored > 0)
      differences.push({ measure: 'mentions', subject: `${engine}, ${name ?? competitorId}`, upstream: null, stored });
  }
  return differences;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
