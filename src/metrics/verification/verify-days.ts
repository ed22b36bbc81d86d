import { addDays, eachDay } from '../../contract/time.ts';
import { createBindings, liveConditions } from '../../warehouse/conditions.ts';
import { quoted } from '../../warehouse/schema.ts';
import { answerTables } from '../numbers/aggregate.ts';
import { ENTITY_NUMBERS, MENTIONS, type RowKind, type VerifyScope } from './comparison.ts';
import { compareDay, type DayComparison, namesOf, readReportedDays, readStoredDays } from './day-figures.ts';

/** Number of days before today on which upstream may still add or remove responses. */
export const SETTLING_DAYS = 2;

const ENTITY_OF_DAY: RowKind = {
  key: 'competitorId',
  name: 'name',
  counts: [MENTIONS, 'responses'],
  unmatched: 'own',
  numbers: ENTITY_NUMBERS,
};

/** The verification of one day of a brand. */
export interface DayVerification extends DayComparison {
  readonly day: string;
  /**
   * `settling`: the day was still open when its report was read, or a difference may be due to changes between reading
   * the report and reading the responses. `unreported`: the report was never read.
   */
  readonly status: 'agrees' | 'differs' | 'settling' | 'unreported';
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
  const { catalogue, query, brand, mayRepeat, uncounted } = scope;
  const days = { catalogue, brandId: brand.id, ...range };
  const reported = await readReportedDays(query, days);
  const stored = await readStoredDays(query, days, { mayRepeat, uncounted, counting: scope.comparison.exact });
  const named = namesOf(reported, stored);
  const [first, last] = [named[0], named.at(-1)];
  if (first === undefined || last === undefined) return [];
  const verified: DayVerification[] = [];
  for (const day of eachDay(first, last)) {
    const compared = compareDay({ ...scope, kind: ENTITY_OF_DAY }, reported.get(day), stored.get(day), {
      sentiment: !scope.unlabelled.has(day),
    });
    const status = statusOf(day, reads, compared);
    verified.push({ day, status, ...compared, ...(status === 'unreported' ? { differences: [] } : {}) });
  }
  return verified;
}

// If the responses were read after the report, they may include later ones; if before, they may lack some.
function statusOf(
  day: string,
  reads: DayReads,
  { upstream, stored, differences }: DayComparison,
): DayVerification['status'] {
  const reportedAt = reads.reports.get(day);
  if (reportedAt === undefined) return 'unreported';
  const today = new Date(reportedAt).toISOString().slice(0, 10);
  if (day >= today) return 'settling';
  if (differences.length === 0) return 'agrees';
  if (day < addDays(today, -SETTLING_DAYS)) return 'differs';
  const answeredAt = reads.answers.get(day) ?? 0;
  return stored > upstream || answeredAt < reportedAt ? 'settling' : 'differs';
}

/** Reads `VerifyScope.unlabelled`. */
export async function readDaysOfUnknownWeight({
  catalogue,
  query,
  brand,
  comparison,
}: Pick<VerifyScope, 'catalogue' | 'query' | 'brand' | 'comparison'>): Promise<ReadonlySet<string>> {
  const { answers, competitors } = answerTables(catalogue);
  const bindings = createBindings();
  const where = liveConditions('t', brand.id, bindings);
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
