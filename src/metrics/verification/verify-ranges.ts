import { z } from 'zod';
import type { Catalogue } from '../../contract/catalogue.ts';
import { number, range, type ValueOf } from '../../contract/operation/json-parts.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import { addDays, DAY_MS, dayOf } from '../../contract/time.ts';
import { createBindings, liveConditions } from '../../warehouse/conditions.ts';
import { quoted } from '../../warehouse/schema.ts';
import { changeRanges } from '../numbers/report-request.ts';
import { computeReport } from '../numbers/reports.ts';
import { type Comparison, type Difference, difference, type Measure, type VerifyScope } from './comparison.ts';
import { type DayReads, type DayVerification, readDaysOfUnknownWeight, SETTLING_DAYS } from './verify-days.ts';

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

type Row = Readonly<Record<string, unknown>>;

interface Kind {
  /** The field that identifies a row, in upstream's naming. */
  readonly key: string;
  readonly name: string;
  readonly counts: readonly string[];
  readonly numbers: Readonly<Partial<Record<string, Measure>>>;
}

const ratios = { visibility: 'visibility', avgPosition: 'avgPosition', sentiment: 'sentiment' } as const;
const change = { visibilityChange: 'visibilityChange' } as const;
const voice = { shareOfVoice: 'shareOfVoice' } as const;

const kinds: Readonly<Record<string, Kind>> = {
  metrics: { key: 'competitorId', name: 'name', counts: ['responses'], numbers: { ...ratios, ...voice } },
  metrics_prompts: { key: 'promptId', name: 'prompt', counts: ['responses'], numbers: { ...ratios, ...change } },
  metrics_groups: { key: 'groupId', name: 'name', counts: ['responses'], numbers: { ...ratios, ...change, ...voice } },
  cited_domains: {
    key: 'domain',
    name: 'domain',
    counts: ['citations', 'responses'],
    numbers: { share: 'domainShare' },
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
          : one.reported !== one.stored;
      const excused = moves && (moved.has(range) || hasMoved);
      const { reported: _reported, stored: _stored, ...rest } = one;
      verified.push({ ...rest, status: one.differences.length === 0 ? 'agrees' : excused ? 'settling' : 'differs' });
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

type Compared = Omit<RangeVerification, 'status'> & { readonly reported: number; readonly stored: number };

async function compareReport(scope: VerifyScope, report: ReportRead, isBeforeVerified: boolean): Promise<Compared[]> {
  const { catalogue, query, brand, comparison, mayRepeat } = scope;
  const resource = catalogue.get(report.resource);
  const unlabelled = await readDaysOfUnknownWeight(scope, report);
  const parameter = resource.each === undefined ? undefined : resource.query[resource.each.parameter];
  const compared: Compared[] = [];
  for (const by of parameter?.values ?? [null]) {
    const theirs = await readRows(scope, report, by);
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
    const usable = { withSentiment: unlabelled.size === 0, withChange: isBeforeVerified };
    compared.push(compareRows(scope, { ...report, by }, theirs, ours, usable));
  }
  return compared;
}

interface Usable {
  readonly withSentiment: boolean;
  readonly withChange: boolean;
}

function compareRows(
  scope: VerifyScope,
  { resource, from, to, by }: ReportRead & { by: string | null },
  theirs: readonly Row[],
  ours: readonly Row[],
  usable: Usable,
): Compared {
  const { comparison, catalogue } = scope;
  const kind = kinds[resource] as Kind;
  const stored = new Map(ours.map((row) => [row[kind.key] ?? null, row]));
  const matched = theirs.filter((row) => stored.has(row[kind.key] ?? null));
  const differences: Difference[] = [];
  const sums = { reported: 0, stored: 0 };
  let countsDiffer = false;
  for (const row of matched) {
    const mine = stored.get(row[kind.key] ?? null) as Row;
    const [first = ''] = kind.counts;
    sums.reported += Number(row[first] ?? 0);
    sums.stored += Number(mine[first] ?? 0);
    const found = compareRow(kind, row, mine, comparison, usableFor(scope, resource, theirs, usable));
    countsDiffer ||= found.some(({ measure }) => kind.counts.includes(measure) || measure === MENTIONS);
    differences.push(...found);
  }
  const limit = catalogue.get(resource).query['limit']?.max;
  const cut =
    limit !== undefined && theirs.length >= limit ? Math.min(...theirs.map((row) => Number(row['citations']))) : 0;
  for (const { subject, upstream, here } of matched.length === 0 ? [] : unmatched(resource, kind, theirs, ours, cut)) {
    differences.push({ measure: kind.counts[0] as string, subject, upstream, stored: here });
    countsDiffer = true;
  }
  const report = by === null ? resource : `${resource} by ${by}`;
  return { report, from, to, compared: matched.length, differences, countsDiffer, ...sums };
}

const MENTIONS = 'mentions';

function compareRow(
  kind: Kind,
  theirs: Row,
  ours: Row,
  comparison: Comparison,
  uses: (measure: Measure) => boolean,
): Difference[] {
  const subject = String(theirs[kind.name] ?? theirs[kind.key] ?? 'no name');
  const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  const counts = kind.counts.flatMap((measure): Difference[] => {
    const stored = Number(ours[measure] ?? 0);
    const upstream = theirs[measure];
    return comparison.countDiffers(upstream, stored)
      ? [{ measure, subject, upstream: numberOf(upstream), stored }]
      : [];
  });
  if (counts.length > 0) return counts;
  const numbers = Object.entries(kind.numbers).flatMap(([name, measure]): Difference[] => {
    if (measure === undefined || !uses(measure)) return [];
    const stored = numberOf(ours[name]);
    if (!comparison.numberDiffers(measure, theirs[name] ?? null, stored)) return [];
    return [{ measure: name, subject, upstream: numberOf(theirs[name]), stored }];
  });
  return [...numbers, ...compareRivals(subject, theirs['topCompetitors'], ours['topCompetitors'])];
}

// Compares only the competitors that upstream lists, because its choice among equal ones is unspecified.
function compareRivals(subject: string, theirs: unknown, ours: unknown): Difference[] {
  if (!Array.isArray(theirs) || !Array.isArray(ours)) return [];
  return (theirs as Row[]).flatMap((rival) => {
    const upstream = rival?.['mentions'];
    if (typeof upstream !== 'number' || typeof rival['competitorId'] !== 'string') return [];
    const mine = (ours as Row[]).find(({ competitorId }) => competitorId === rival['competitorId']);
    const stored = Number(mine?.['mentions'] ?? 0);
    if (upstream === stored) return [];
    return [
      { measure: MENTIONS, subject: `${subject}, ${String(rival['name'] ?? rival['competitorId'])}`, upstream, stored },
    ];
  });
}

function usableFor(
  { brand, comparison }: VerifyScope,
  resource: string,
  theirs: readonly Row[],
  { withSentiment, withChange }: Usable,
): (measure: Measure) => boolean {
  const listed = new Set(theirs.map((row) => row['competitorId']));
  const sameVoices =
    resource !== 'metrics' ||
    (theirs.length === brand.competitors.length + 1 &&
      brand.competitors.every(({ competitorId }) => listed.has(competitorId)));
  return (measure) => {
    switch (measure) {
      case 'shareOfVoice':
        return sameVoices;
      case 'sentiment':
        return withSentiment;
      case 'visibilityChange':
        return withChange && comparison.isKnown('visibility');
      default:
        return true;
    }
  };
}

// Lists rows that one side lacks, for reports whose keys both sides share: prompts, and domains down to the list's cut.
function unmatched(resource: string, kind: Kind, theirs: readonly Row[], ours: readonly Row[], cut: number) {
  const keysOf = (rows: readonly Row[]): Set<unknown> => new Set(rows.map((row) => row[kind.key] ?? null));
  const [named, stored] = [keysOf(theirs), keysOf(ours)];
  const [count = ''] = kind.counts;
  const subjectOf = (row: Row): string => String(row[kind.name] ?? row[kind.key] ?? 'no name');
  const counted = (row: Row): number => Number(row[count] ?? 0);
  const lost = theirs
    .filter((row) => typeof row[kind.key] === 'string' && !stored.has(row[kind.key]) && counted(row) > 0)
    .map((row) => ({ subject: subjectOf(row), upstream: counted(row), here: 0 }));
  const added = ours
    .filter((row) => typeof row[kind.key] === 'string' && !named.has(row[kind.key]) && counted(row) > cut)
    .map((row) => ({ subject: subjectOf(row), upstream: 0, here: counted(row) }));
  return resource === 'cited_domains' ? [...lost, ...added] : resource === 'metrics_prompts' ? added : [];
}

async function readRows(
  { catalogue, query, brand }: VerifyScope,
  report: ReportRead,
  by: string | null,
): Promise<Row[]> {
  const resource = catalogue.get(report.resource);
  const table = resource.derived[0] as ResourceTable;
  const columns = columnsOf(catalogue, report.resource);
  const bindings = createBindings();
  const where = [
    ...liveConditions('t', brand.id, bindings),
    `t.range_from = CAST(${bindings.bind(report.from)} AS DATE)`,
    `t.range_to = CAST(${bindings.bind(report.to)} AS DATE)`,
    ...(by === null || resource.each === undefined ? [] : [`t.${quoted(resource.each.column)} = ${bindings.bind(by)}`]),
  ];
  const names = columns.map(({ name, kind }) =>
    isText(kind) ? `CAST(t.${quoted(name)} AS VARCHAR)` : `t.${quoted(name)}`,
  );
  const rows = await query(
    `SELECT ${names.join(', ')} FROM ${quoted(table.name)} t WHERE ${where.join(' AND ')}`,
    bindings.values,
  );
  return rows.map((row) =>
    Object.fromEntries(
      columns.map(({ field, kind }, index) => [field, kind === 'json' ? parse(row[index]) : row[index]]),
    ),
  );
}

function columnsOf(catalogue: Catalogue, resource: string) {
  const table = catalogue.get(resource).derived[0] as ResourceTable;
  return table.columns.flatMap(({ name, kind, source }) =>
    source.from === 'item' || source.from === 'body' ? [{ name, kind, field: source.path.join('.') }] : [],
  );
}

function isText(kind: string): boolean {
  return kind === 'uuid' || kind === 'json';
}

function parse(text: unknown): unknown {
  return typeof text === 'string' ? JSON.parse(text) : null;
}
