import type { Catalogue } from '../contract/catalogue.ts';
import type { Query as CheckedQuery } from '../contract/query.ts';
import type { ResourceDeclaration } from '../contract/resource.ts';
import { addDays, daysInRange } from '../contract/time.ts';
import type { Query } from '../warehouse/database.ts';
import type { GroupTally, Selection } from './aggregate.ts';
import type { Conventions } from './conventions.ts';
import type { Tally } from './definitions.ts';

/** A brand or a competitor, as numbers name it. */
export interface Entity {
  /** Null for the brand itself. */
  readonly competitorId: string | null;
  readonly name: string | null;
}

/** What numbers are asked for. */
export interface ReportRequest {
  readonly catalogue: Catalogue;
  readonly query: Query;
  readonly conventions: Conventions;
  readonly brand: ReportedBrand;
  readonly resource: ResourceDeclaration;
  readonly asked: CheckedQuery;
  readonly nowMs: number;
  /** Whether an answer may list the same competitor twice. */
  readonly mayRepeat: boolean;
}

/** What numbers need to know of a brand. */
export interface ReportedBrand {
  readonly id: string;
  readonly name: string | null;
  /** Day on which it was set up, or null. */
  readonly since: string | null;
  readonly engines: readonly string[];
  /** Competitors tracked now, in upstream's order. */
  readonly competitors: readonly Entity[];
}

/** Numbers: what stands beside the rows, and the rows. */
export interface Report {
  readonly beside: Readonly<Record<string, unknown>>;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** The tally of no answers. */
export const nothing: Tally = { responses: 0, mentions: 0, positions: { count: 0, sum: 0 }, labels: {} };

/** The range of the same length that ends the day before. */
export function rangeBefore({ from, to }: { from: string; to: string }): { from: string; to: string } {
  return { from: addDays(from, -daysInRange(from, to)), to: addDays(from, -1) };
}

/** The answers that a request counts. */
export function selectionOf({ catalogue, brand, resource, asked, mayRepeat }: ReportRequest): Selection {
  const { from, to, values } = asked;
  return { catalogue, brandId: brand.id, from, to, declared: resource.query, values, mayRepeat };
}

/** The sentiment labels that are worth something. */
export function labelsOf({ labels }: Conventions): string[] {
  return Object.keys(labels);
}

/** Mentions of the brand and of all competitors tracked now, what a share of voice is a share of. */
export function mentionsOfAll({ competitors }: ReportedBrand, group: GroupTally | undefined): number {
  return competitors.reduce(
    (sum, { competitorId }) => sum + (group?.competitors.get(competitorId as string)?.mentions ?? 0),
    group?.own.mentions ?? 0,
  );
}
