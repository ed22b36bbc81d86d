import type { Catalogue } from '../../contract/catalogue.ts';
import type { FieldWriters } from '../../contract/field-forms.ts';
import type { Query as CheckedQuery } from '../../contract/query-parameters.ts';
import type { ResourceDeclaration } from '../../contract/resource.ts';
import { addDays, daysInRange } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import type { Conventions } from '../calibration/conventions.ts';
import type { GroupTally, Selection } from './aggregate.ts';
import type { MentionCounts } from './definitions.ts';

/** A brand or a competitor in a report. */
export interface Entity {
  /** Null for the brand itself. */
  readonly competitorId: string | null;
  readonly name: string | null;
}

/** Inputs for computing a report. */
export interface ReportRequest {
  readonly catalogue: Catalogue;
  readonly query: Query;
  /** Reads lists that do not depend on the range, such as prompts; its rows may be those of an earlier request. Default: `query`. */
  readonly lists?: Query;
  readonly conventions: Conventions;
  readonly brand: ReportedBrand;
  readonly resource: ResourceDeclaration;
  readonly asked: CheckedQuery;
  readonly nowMs: number;
  /** Whether a response may list the same competitor twice. */
  readonly mayRepeat: boolean;
  /** Counts of the brand by day and engine; default: every request is counted with SQL. */
  readonly counts?: Selection['counts'];
  /** Writes stored values in upstream's forms; default: the forms that the project uses. */
  readonly writers?: FieldWriters;
  /** Returns an earlier result if it has read the same values of the conventions; default: computes every time. */
  readonly memo?: <T>(conventions: Conventions, compute: (conventions: Conventions) => Promise<T>) => Promise<T>;
}

/** Computes the unsorted rows of a report, or returns the earlier result. Calibration compares many orders of the same rows. */
export function beforeSorting<T>(request: ReportRequest, compute: (request: ReportRequest) => Promise<T>): Promise<T> {
  const { memo, conventions } = request;
  return memo === undefined ? compute(request) : memo(conventions, (own) => compute({ ...request, conventions: own }));
}

/** The properties of a brand that reports need. */
export interface ReportedBrand {
  readonly id: string;
  readonly name: string | null;
  /** Day the brand was created, `YYYY-MM-DD`, or null if unknown. */
  readonly since: string | null;
  readonly engines: readonly string[];
  /** Competitors tracked now, in upstream's order. */
  readonly competitors: readonly Entity[];
  /** Competitors that were tracked earlier, by their ids; only complete if a convention counts them. */
  readonly formerCompetitors: readonly Entity[];
}

/** A computed report: the fields beside the rows, and the rows. */
export interface Report {
  readonly beside: Readonly<Record<string, unknown>>;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** The counts of an empty set of responses. */
export const nothing: MentionCounts = { responses: 0, mentions: 0, positions: { count: 0, sum: 0 }, labels: {} };

const WEEK = 7;

/** Days, both included; none if `to` is the day before `from`. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/**
 * Returns the two ranges that a change of visibility compares. `adjacent`: the given range and the range of equal length directly before it.
 * `weeks`: the given range and the same range shifted back by whole weeks. `halves`: the two halves of the given range; the later half has
 * the odd day.
 */
export function changeRanges(
  { from, to }: DayRange,
  { changePeriod }: Pick<Conventions, 'changePeriod'>,
): { readonly now: DayRange; readonly before: DayRange } {
  const days = daysInRange(from, to);
  if (changePeriod === 'halves') {
    const middle = addDays(from, Math.floor(days / 2));
    return { now: { from: middle, to }, before: { from, to: addDays(middle, -1) } };
  }
  const shift = changePeriod === 'weeks' ? Math.ceil(days / WEEK) * WEEK : days;
  return { now: { from, to }, before: { from: addDays(from, -shift), to: addDays(to, -shift) } };
}

/** Returns the selection of responses that a request counts. */
export function selectionOf(request: ReportRequest): Selection {
  const { catalogue, brand, resource, asked, mayRepeat, conventions, counts } = request;
  const { from, to, values } = asked;
  const common = { catalogue, brandId: brand.id, from, to, declared: resource.query, values, mayRepeat };
  return { ...common, counting: conventions, ...(counts === undefined ? {} : { counts }) };
}

/** Returns the competitors that were tracked earlier and that a group of responses mentions. */
export function formerMentioned({ formerCompetitors }: ReportedBrand, group: GroupTally | undefined): Entity[] {
  return formerCompetitors.filter(({ competitorId }) => isMentioned(group, competitorId));
}

/** Returns the competitors that have a row for a group of responses, of those tracked now. */
export function listedCompetitors(
  { brand, conventions }: Pick<ReportRequest, 'brand' | 'conventions'>,
  group: GroupTally | undefined,
  isDaily: boolean,
): readonly Entity[] {
  const isListed = (): boolean =>
    conventions.unmentioned === 'listed' || (conventions.unmentioned === 'totals' && !isDaily);
  return brand.competitors.filter(({ competitorId }) => isMentioned(group, competitorId) || isListed());
}

function isMentioned(group: GroupTally | undefined, competitorId: string | null): boolean {
  return (group?.competitors.get(competitorId ?? '')?.mentions ?? 0) > 0;
}

/** Returns the mentions of the brand and all counted competitors: the denominator of share of voice. */
export function mentionsOfAll(
  { brand, conventions }: Pick<ReportRequest, 'brand' | 'conventions'>,
  group: GroupTally | undefined,
): number {
  const rivals =
    conventions.deletedCompetitors === 'excluded'
      ? brand.competitors.flatMap(({ competitorId }) => group?.competitors.get(competitorId ?? '') ?? [])
      : [...(group?.competitors.values() ?? [])];
  return rivals.reduce((sum, { mentions }) => sum + mentions, group?.own.mentions ?? 0);
}
