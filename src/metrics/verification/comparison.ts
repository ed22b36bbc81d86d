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
}

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
      return Math.abs(upstream - exact) > toleranceOf(conventions, measure, exact);
    },
  };
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

// Empty shares and empty means have their own conventions. A change from an empty range is not compared.
function placeholderDiffers(
  conventions: Conventions,
  isKnown: Comparison['isKnown'],
  measure: Measure,
  upstream: unknown,
): boolean {
  switch (measure) {
    case 'visibility':
      return isKnown('emptyShare') && (upstream ?? null) !== conventions.emptyShare;
    case 'shareOfVoice':
      return isKnown('emptyShare') && (upstream ?? null) !== emptyVoiceOf(conventions);
    case 'avgPosition':
      return isKnown('emptyMean') && (upstream ?? null) !== conventions.emptyMean;
    case 'sentiment':
      return isKnown('emptyMean') && (upstream ?? null) !== emptySentimentOf(conventions);
    default:
      return false;
  }
}

// Rounding moves a number by at most half a step, and truncation by at most one step.
function toleranceOf(conventions: Conventions, measure: Measure, exact: number): number {
  const stepOf = ({ decimals, mode }: Rounding): number =>
    decimals === null ? 0 : 10 ** -decimals * (mode === 'down' ? 1 : 0.5);
  const form = conventions[measure];
  const change = conventions.visibilityChange;
  // A difference of two rounded shares has the rounding error of both.
  const before = measure === 'visibilityChange' && change.of === 'rounded' ? 2 * stepOf(conventions.visibility) : 0;
  const noise = form.decimals === null ? UNROUNDED : NOISE;
  return stepOf(form) + before + noise * Math.max(1, Math.abs(exact));
}
