import { z } from 'zod';
import { number, range, type ValueOf } from '../../contract/operation/json-parts.ts';
import { addDays, DAY_MS, dayOf } from '../../contract/time.ts';
import { changeRanges } from '../numbers/report-request.ts';
import { computeReport } from '../numbers/reports.ts';
import {
  compareRows,
  type Difference,
  difference,
  ENTITY_NUMBERS,
  listsAllEntities,
  MENTIONS,
  type RowKind,
  type VerifyScope,
} from './comparison.ts';
import { readReportedRows } from './reported-rows.ts';
import { type DayReads, type DayVerification, SETTLING_DAYS } from './verify-days.ts';

/** The verification of one range report. */
export const rangeVerification = z.object({
  report: z.string().describe('the resource, and the grouping if it has several'),
  ...range.shape,
  compared: number.describe('rows that could be compared'),
  status: z.enum(['agrees', 'differs', 'settling']),
  differences: z.array(difference),
});

/** The verification of one range report. */
export interface RangeVerification extends ValueOf<typeof rangeVerification> {
  /** Whether the counts differ. Syncing the responses again may fix that. */
  readonly countsDiffer: boolean;
}

/** A range report that was read completely. */
export interface ReportRead {
  readonly resource: string;
  readonly from: string;
  readonly to: string;
  /** Epoch milliseconds. */
  readonly readAt: number;
}

const { shareOfVoice: _voice, ...ratios } = ENTITY_NUMBERS;
const change = { visibilityChange: 'visibilityChange' } as const;

const kinds: Readonly<Record<string, RowKind>> = {
  metrics: { key: 'competitorId', name: 'name', counts: ['responses'], numbers: ENTITY_NUMBERS },
  metrics_prompts: {
    key: 'promptId',
    name: 'prompt',
    counts: ['responses'],
    numbers: { ...ratios, ...change },
    unmatched: 'own',
  },
  metrics_groups: { key: 'groupId', name: 'name', counts: ['responses'], numbers: { ...ENTITY_NUMBERS, ...change } },
  cited_domains: {
    key: 'domain',
    name: 'domain',
    counts: ['citations', 'responses'],
    numbers: { share: 'domainShare' },
    unmatched: 'all',
  },
};

/** Resources of the range reports that are verified. */
export const RANGE_REPORTS: readonly string[] = Object.keys(kinds);

/** A limit longer than any list, so that computed lists are not truncated. */
const UNCUT = 1_000_000_000;

/** Highest assumed rate of new responses, as a multiple of the average rate on the day with the most responses. */
const BURST = 4;

/**
 * Verifies upstream's range reports: recomputes each from the responses of its days. `answers` has the time of the last complete read of
 * each day's responses, in epoch milliseconds.
 */
export async function verifyRanges(
  scope: VerifyScope,
  reports: readonly ReportRead[],
  days: readonly DayVerification[],
  answers: DayReads['answers'],
): Promise<RangeVerification[]> {
  const verified: RangeVerification[] = [];
  const moved = new Set<string>();
  // Verify the totals first. If they differ in a range that is still settling, its other reports are excused too.
  for (const report of reports.toSorted(
    (a, b) => RANGE_REPORTS.indexOf(a.resource) - RANGE_REPORTS.indexOf(b.resource),
  )) {
    const moves = report.to >= addDays(dayOf(report.readAt), -SETTLING_DAYS);
    const within = (range: { from: string; to: string }) =>
      days.filter(({ day }) => range.from <= day && day <= range.to);
    const range = `${report.from} ${report.to}`;
    const isOpen = within(report).some(({ status, differences }) => status === 'settling' && differences.length > 0);
    if (moves && isOpen) moved.add(range);
    // A change is comparable only if every day of the preceding range agrees.
    const isBeforeVerified = within(changeRanges(report, scope.comparison.exact).before).every(
      ({ status }) => status === 'agrees',
    );
    for (const one of await compareReport(scope, report, isBeforeVerified)) {
      if (report.resource === 'metrics' && moves && one.countsDiffer) moved.add(range);
      const hasMoved =
        report.resource === 'cited_domains'
          ? hasGrown(one.differences, arrivalsMost(report, within(report), answers))
          : hasOtherTotal(one.differences);
      const excused = moves && (moved.has(range) || hasMoved);
      verified.push({ ...one, status: one.differences.length === 0 ? 'agrees' : excused ? 'settling' : 'differs' });
    }
  }
  return verified;
}

// The maximum number of responses that can have arrived after the newest days were read and before the report was read.
function arrivalsMost(report: ReportRead, days: readonly DayVerification[], answers: DayReads['answers']): number {
  const newest = days.map(({ day }) => day).filter((day) => day >= addDays(dayOf(report.readAt), -SETTLING_DAYS));
  const gapMs = report.readAt - Math.min(report.readAt, ...newest.map((day) => answers.get(day) ?? report.readAt));
  if (gapMs === 0) return 0;
  const dayMost = Math.max(0, ...days.map(({ stored }) => stored));
  return Math.min(dayMost, 1 + Math.ceil((BURST * dayMost * gapMs) / DAY_MS));
}

// Whether new responses explain all counts that differ. Shares are ignored, because they change with the counts.
function hasGrown(differences: readonly Difference[], arrivals: number): boolean {
  const counts = differences.filter(({ measure }) => measure === 'responses' || measure === 'citations');
  const isArrival = ({ measure, upstream, stored }: Difference): boolean => {
    const more = (upstream ?? 0) - (stored ?? 0);
    return more > 0 && (measure === 'citations' || more <= arrivals);
  };
  return arrivals > 0 && counts.length > 0 && counts.every(isArrival);
}

// Whether all rows together have another number of responses.
function hasOtherTotal(differences: readonly Difference[]): boolean {
  const counts = differences.filter(({ measure }) => measure === 'responses');
  return counts.reduce((sum, { upstream, stored }) => sum + (upstream ?? 0) - (stored ?? 0), 0) !== 0;
}

type Compared = Omit<RangeVerification, 'status'>;

async function compareReport(scope: VerifyScope, report: ReportRead, isBeforeVerified: boolean): Promise<Compared[]> {
  const { catalogue, query, brand, comparison, mayRepeat, unlabelled } = scope;
  const resource = catalogue.get(report.resource);
  const parameter = resource.each === undefined ? undefined : resource.query[resource.each.parameter];
  const compared: Compared[] = [];
  for (const by of parameter?.values ?? [null]) {
    const theirs = await readReportedRows(query, { ...report, catalogue, brandId: brand.id, by });
    if (theirs.length === 0) continue;
    const values = {
      limit: UNCUT,
      ...(resource.each === undefined || by === null ? {} : { [resource.each.parameter]: by }),
    };
    const asked = { values, given: [], from: report.from, to: report.to };
    const conventions = { ...comparison.exact, topCompetitors: UNCUT };
    const request = { catalogue, query, conventions, brand, resource, asked, nowMs: report.readAt, mayRepeat };
    const computed = await computeReport(resource.computes ?? 'by-nothing', request);
    const ours = computed.rows.map((row) => ({ ...computed.beside, ...row }));
    const kind = kinds[report.resource] as RowKind;
    const limit = resource.query['limit']?.max ?? Infinity;
    const cut = theirs.length < limit ? 0 : Math.min(...theirs.map((row) => Number(row['citations'])));
    const usable = {
      shareOfVoice: report.resource !== 'metrics' || listsAllEntities(brand, theirs),
      sentiment: ![...unlabelled].some((day) => report.from <= day && day <= report.to),
      visibilityChange: isBeforeVerified && comparison.isKnown('visibility'),
    };
    const rows = compareRows(kind, [theirs, ours], comparison, usable, cut);
    compared.push({
      report: by === null ? report.resource : `${report.resource} by ${by}`,
      from: report.from,
      to: report.to,
      ...rows,
      countsDiffer: rows.differences.some(({ measure }) => kind.counts.includes(measure) || measure === MENTIONS),
    });
  }
  return compared;
}
