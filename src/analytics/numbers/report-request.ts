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
  readonly conventions: Conventions;
  readonly brand: ReportedBrand;
  readonly resource: ResourceDeclaration;
  readonly asked: CheckedQuery;
  readonly nowMs: number;
  /** Whether a response may list the same competitor twice. */
  readonly mayRepeat: boolean;
  /** Writes stored values in upstream's forms; default: the forms that the project uses. */
  readonly writers?: FieldWriters;
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
  /** Competitors that were tracked earlier, by their ids. */
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

/** Returns the range of equal length that ends the day before `from`, or that is shifted back by whole weeks. */
export function rangeBefore(
  { from, to }: { from: string; to: string },
  { changePeriod }: Pick<Conventions, 'changePeriod'>,
): { from: string; to: string } {
  const days = daysInRange(from, to);
  const shift = changePeriod === 'weeks' ? Math.ceil(days / WEEK) * WEEK : days;
  return { from: addDays(from, -shift), to: addDays(to, -shift) };
}

/** Returns the selection of responses that a request counts. */
export function selectionOf({ catalogue, brand, resource, asked, mayRepeat, conventions }: ReportRequest): Selection {
  const { from, to, values } = asked;
  const counted = conventions.countedResponses;
  return { catalogue, brandId: brand.id, from, to, declared: resource.query, values, mayRepeat, counted };
}

/** Returns the sentiment labels that have a worth. */
export function labelsOf({ labels }: Conventions): string[] {
  return Object.keys(labels);
}

/** Returns the competitors that count in shares of voice, or that have rows: those tracked now, and former ones if upstream keeps them. */
export function countedCompetitors(
  { competitors, formerCompetitors }: ReportedBrand,
  { deletedCompetitors }: Pick<Conventions, 'deletedCompetitors'>,
  as: 'counted' | 'listed',
): readonly Entity[] {
  const keepsFormer = deletedCompetitors === 'listed' || deletedCompetitors === as;
  return keepsFormer ? [...competitors, ...formerCompetitors] : competitors;
}

/** Returns the mentions of the brand and all counted competitors: the denominator of share of voice. */
export function mentionsOfAll(
  { brand, conventions }: Pick<ReportRequest, 'brand' | 'conventions'>,
  group: GroupTally | undefined,
): number {
  return countedCompetitors(brand, conventions, 'counted').reduce(
    (sum, { competitorId }) => sum + (group?.competitors.get(competitorId as string)?.mentions ?? 0),
    group?.own.mentions ?? 0,
  );
}
