import { z } from 'zod';
import type { Catalogue } from '../../contract/catalogue.ts';
import type { ValueOf } from '../../contract/operation/json-parts.ts';
import type { Query } from '../../warehouse/database.ts';
import type { Conventions, Rounding } from '../calibration/conventions.ts';
import { emptySentimentOf, emptyVoiceOf } from '../numbers/definitions.ts';
import type { ReportedBrand } from '../numbers/report-request.ts';

/** A number that differs between upstream's report and the local computation. */
export const difference = z.object({
  measure: z.string().describe('as the API names it'),
  subject: z.string().describe('the entity, engine, prompt or domain that the number describes'),
  upstream: z.number().nullable(),
  stored: z.number().nullable().describe('computed from the stored rows'),
});

/** A number that differs between upstream's report and the local computation. */
export type Difference = ValueOf<typeof difference>;

/** Compares numbers reported by upstream with locally computed ones. */
export interface Comparison {
  /** Conventions without rounding and without placeholders, so that results are exact, or null if undefined. */
  readonly exact: Conventions;
  /** Whether a convention is calibrated or configured; false if it is a default. */
  isKnown(name: keyof Conventions): boolean;
  /** Whether upstream's count differs from `stored`; false if upstream omits the count. */
  countDiffers(upstream: unknown, stored: number): boolean;
  /** Whether upstream's number cannot result from rounding and formatting `exact` by the conventions. */
  numberDiffers(measure: Measure, upstream: unknown, exact: number | null): boolean;
}

/** Inputs for verifying one brand. */
export interface VerifyScope {
  readonly catalogue: Catalogue;
  readonly query: Query;
  readonly brand: ReportedBrand;
  readonly comparison: Comparison;
  /** Whether a response may list the same competitor twice. */
  readonly mayRepeat: boolean;
  /** Engines that are not compared by day, because upstream counts their responses on no day. */
  readonly uncounted: readonly string[];
  /** Days with a sentiment label of unknown worth. Their mean sentiment cannot be computed. */
  readonly unlabelled: ReadonlySet<string>;
}

/** A row of a report. */
export type Row = Readonly<Record<string, unknown>>;

/** How the rows of a report are compared, in upstream's names of fields. */
export interface RowKind {
  /** The field that identifies a row. */
  readonly key: string;
  readonly name: string;
  readonly counts: readonly string[];
  readonly numbers: Readonly<Partial<Record<string, Measure>>>;
  /** Rows that are differences if the other side lacks them: computed rows or all rows; default: none. */
  readonly unmatched?: 'own' | 'all';
  /** Returns whether shares and means of a row with these counts are compared; default: true. */
  comparesNumbers?(counts: Row): boolean;
}

/** Measures that are comparable or not in all rows; others are. */
export type Usable = Readonly<Partial<Record<Measure, boolean>>>;

/** Shares and means; each has a convention of the same name. */
export type Measure = 'visibility' | 'shareOfVoice' | 'avgPosition' | 'sentiment' | 'visibilityChange' | 'domainShare';

/** Bound of the relative floating-point error after a few operations. */
const NOISE = 1e-9;
/** Relative tolerance for numbers that upstream does not round, because it may compute them in another order. */
const UNROUNDED = 1e-6;

/** Creates a comparison. `known` lists the conventions that are calibrated or set in the configuration. */
export function createComparison(conventions: Conventions, known: ReadonlySet<string>): Comparison {
  const isKnown = (name: keyof Conventions): boolean => known.has(name);
  return {
    exact: toExact(conventions),
    isKnown,
    countDiffers: (upstream, stored) => typeof upstream === 'number' && upstream !== stored,
    numberDiffers: (measure, upstream, exact) => {
      // A default convention cannot prove a difference.
      if (!isKnown(measure) || (measure === 'sentiment' && !isKnown('labels'))) return false;
      if (exact === null) return placeholderDiffers(conventions, isKnown, measure, upstream);
      // Ignore a null that upstream reports although the number can be computed.
      if (typeof upstream !== 'number') return false;
      const { middle, tolerance } = boundsOf(conventions, measure, exact);
      return Math.abs(upstream - middle) > tolerance;
    },
  };
}

/** The numbers of the brand and of competitors. */
export const ENTITY_NUMBERS = {
  visibility: 'visibility',
  shareOfVoice: 'shareOfVoice',
  avgPosition: 'avgPosition',
  sentiment: 'sentiment',
} as const;

/** The measure of the competitors within a row. */
export const MENTIONS = 'mentions';

/**
 * Compares reported rows with computed rows. A computed row may be missing in the report if its first count is at most `cut`.
 */
export function compareRows(
  kind: RowKind,
  [theirs, ours]: readonly [readonly Row[], readonly Row[]],
  comparison: Comparison,
  usable: Usable = {},
  cut = 0,
): { readonly compared: number; readonly differences: Difference[] } {
  const keyOf = (row: Row): unknown => row[kind.key] ?? null;
  const [reported, stored] = [theirs, ours].map((rows) => new Map(rows.map((row) => [keyOf(row), row])));
  const matched = theirs.filter((row) => stored?.has(keyOf(row)));
  const differences = matched.flatMap((row) =>
    compareRow(kind, [row, stored?.get(keyOf(row)) as Row], comparison, usable),
  );
  const [measure = ''] = kind.counts;
  const counted = (row: Row): number => Number(row[measure] ?? 0);
  const lost = theirs
    .filter((row) => kind.unmatched === 'all' && isLone(keyOf(row), stored) && counted(row) > 0)
    .map((row) => ({ measure, subject: subjectOf(kind, row), upstream: counted(row), stored: 0 }));
  const added = ours
    .filter((row) => kind.unmatched !== undefined && isLone(keyOf(row), reported) && counted(row) > cut)
    .map((row) => ({ measure, subject: subjectOf(kind, row), upstream: 0, stored: counted(row) }));
  return { compared: matched.length, differences: matched.length === 0 ? [] : [...differences, ...lost, ...added] };
}

function isLone(key: unknown, others: ReadonlyMap<unknown, Row> | undefined): boolean {
  return typeof key === 'string' && others?.has(key) !== true;
}

function subjectOf({ key, name }: RowKind, row: Row): string {
  return String(row[name] ?? row[key] ?? (key === 'competitorId' ? 'the brand' : 'no name'));
}

// If counts differ, the other numbers of the row are not comparable.
function compareRow(
  kind: RowKind,
  [theirs, ours]: readonly [Row, Row],
  comparison: Comparison,
  usable: Usable,
): Difference[] {
  const of = (measure: string, upstream: unknown, stored: number | null): Difference => {
    return { measure, subject: subjectOf(kind, theirs), upstream: numberOrNull(upstream), stored };
  };
  const counts = kind.counts.flatMap((measure): Difference[] => {
    const stored = Number(ours[measure] ?? 0);
    return comparison.countDiffers(theirs[measure], stored) ? [of(measure, theirs[measure], stored)] : [];
  });
  if (counts.length > 0) return counts;
  const compared = kind.comparesNumbers?.(ours) === false ? [] : Object.entries(kind.numbers);
  const numbers = compared.flatMap(([name, measure]): Difference[] => {
    if (measure === undefined || usable[measure] === false) return [];
    const stored = numberOrNull(ours[name]);
    if (!comparison.numberDiffers(measure, theirs[name] ?? null, stored)) return [];
    return [of(name, theirs[name], stored)];
  });
  return [...numbers, ...compareRivals(subjectOf(kind, theirs), theirs['topCompetitors'], ours['topCompetitors'])];
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

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** Whether rows are those of the brand and all tracked competitors. Only then upstream counts the same voices. */
export function listsAllEntities({ competitors }: ReportedBrand, rows: readonly Row[]): boolean {
  const listed = new Set(rows.map((row) => row['competitorId']));
  return rows.length === competitors.length + 1 && competitors.every(({ competitorId }) => listed.has(competitorId));
}

function toExact(conventions: Conventions): Conventions {
  const unrounded = <T extends Rounding>(form: T): T => ({ ...form, decimals: null });
  return {
    ...conventions,
    visibility: unrounded(conventions.visibility),
    shareOfVoice: unrounded(conventions.shareOfVoice),
    visibilityChange: unrounded(conventions.visibilityChange),
    avgPosition: unrounded(conventions.avgPosition),
    sentiment: unrounded(conventions.sentiment),
    domainShare: unrounded(conventions.domainShare),
    emptyShare: null,
    emptyVoice: null,
    emptyMean: null,
    emptySentiment: null,
    emptyChange: null,
  };
}

// Empty shares and empty means have their own conventions, and are null or 0. A change from an empty range is not compared.
function placeholderDiffers(
  conventions: Conventions,
  isKnown: Comparison['isKnown'],
  measure: Measure,
  upstream: unknown,
): boolean {
  const placeholders: Partial<Record<Measure, readonly [keyof Conventions, 0 | null]>> = {
    visibility: ['emptyShare', conventions.emptyShare],
    shareOfVoice: ['emptyShare', emptyVoiceOf(conventions)],
    avgPosition: ['emptyMean', conventions.emptyMean],
    sentiment: ['emptyMean', emptySentimentOf(conventions)],
  };
  const [name, placeholder] = placeholders[measure] ?? [];
  if (name === undefined) return false;
  const given = upstream ?? null;
  return (given !== null && given !== 0) || (isKnown(name) && given !== placeholder);
}

// Returns the middle and half the width of the numbers that upstream may write for an exact one.
function boundsOf(conventions: Conventions, measure: Measure, exact: number): { middle: number; tolerance: number } {
  const halfStep = ({ decimals }: Rounding): number => (decimals === null ? 0 : 10 ** -decimals / 2);
  const { visibility, visibilityChange, [measure]: form } = conventions;
  // A difference of two rounded shares has the rounding error of both: a whole step each if they are truncated.
  const ofShares = measure === 'visibilityChange' && visibilityChange.of === 'rounded' ? halfStep(visibility) : 0;
  const before = (visibility.mode === 'down' ? 4 : 2) * ofShares;
  const noise = (form.decimals === null ? UNROUNDED : NOISE) * Math.max(1, Math.abs(exact));
  const cut = form.mode === 'down' ? halfStep(form) : 0;
  return { middle: exact - Math.sign(exact) * cut, tolerance: halfStep(form) + before + noise };
}
