import type { Catalogue } from '../contract/catalogue.ts';
import type { Query } from '../warehouse/database.ts';
import type { Conventions, Rounding } from './conventions.ts';
import type { ReportedBrand } from './request.ts';

/** Two numbers that should be one. */
export interface Difference {
  /** What was counted or computed, as the API names it. */
  readonly measure: string;
  /** Whom or what the number is about, in words. */
  readonly subject: string;
  readonly upstream: number | null;
  readonly held: number | null;
}

/** How numbers that upstream reported are held against what is computed here. */
export interface Comparison {
  /** Conventions under which nothing is rounded and nothing stands for nothing: what comes out is exact, or null. */
  readonly exact: Conventions;
  /** Whether a convention is known rather than assumed. */
  isKnown(name: keyof Conventions): boolean;
  /** Whether upstream's count is another than ours; one that upstream leaves out is not. */
  countDiffers(upstream: unknown, held: number): boolean;
  /** Whether upstream's number cannot be what `exact` becomes when it is written as upstream writes it. */
  numberDiffers(measure: Measure, upstream: unknown, exact: number | null): boolean;
}

/** What one brand is verified with. */
export interface VerifyScope {
  readonly catalogue: Catalogue;
  readonly query: Query;
  readonly brand: ReportedBrand;
  readonly comparison: Comparison;
  /** Whether an answer may list the same competitor twice. */
  readonly mayRepeat: boolean;
}

/** Numbers that are shares or means, and the conventions by which they are written. */
export type Measure = 'visibility' | 'shareOfVoice' | 'avgPosition' | 'sentiment' | 'visibilityChange' | 'domainShare';

/** A double is off by less than this part of itself after a few operations. */
const NOISE = 1e-9;
/** Numbers that upstream does not round may be the result of other operations in another order. */
const UNROUNDED = 1e-6;

/** Prepares comparisons; `known` names the conventions that upstream's numbers have shown, or the configuration sets. */
export function createComparison(conventions: Conventions, known: ReadonlySet<string>): Comparison {
  const isKnown = (name: keyof Conventions): boolean => known.has(name);
  return {
    exact: toExact(conventions),
    isKnown,
    countDiffers: (upstream, held) => typeof upstream === 'number' && upstream !== held,
    numberDiffers: (measure, upstream, exact) => {
      // What is only assumed about a number proves nothing against it.
      if (!isKnown(measure) || (measure === 'sentiment' && !isKnown('labels'))) return false;
      if (exact === null) return nothingDiffers(conventions, isKnown, measure, upstream);
      // A null where there was something to compute from tells nothing.
      if (typeof upstream !== 'number') return false;
      return Math.abs(upstream - exact) > toleranceOf(conventions, measure, exact);
    },
  };
}

function toExact(conventions: Conventions): Conventions {
  const whole = <T extends Rounding>(form: T): T => ({ ...form, decimals: null });
  return {
    ...conventions,
    visibility: whole(conventions.visibility),
    shareOfVoice: whole(conventions.shareOfVoice),
    visibilityChange: whole(conventions.visibilityChange),
    avgPosition: whole(conventions.avgPosition),
    sentiment: whole(conventions.sentiment),
    domainShare: whole(conventions.domainShare),
    emptyShare: null,
    emptyMean: null,
    emptyChange: null,
  };
}

// Shares and means of nothing have conventions of their own; against what a change of nothing is measured is left open.
function nothingDiffers(
  { emptyShare, emptyMean }: Conventions,
  isKnown: Comparison['isKnown'],
  measure: Measure,
  upstream: unknown,
): boolean {
  switch (measure) {
    case 'visibility':
    case 'shareOfVoice':
      return isKnown('emptyShare') && (upstream ?? null) !== emptyShare;
    case 'avgPosition':
    case 'sentiment':
      return isKnown('emptyMean') && (upstream ?? null) !== emptyMean;
    default:
      return false;
  }
}

// Whichever way halves are rounded, a rounded number is no further from the exact one than half a step.
function toleranceOf(conventions: Conventions, measure: Measure, exact: number): number {
  const stepOf = ({ decimals, mode }: Rounding): number =>
    decimals === null ? 0 : 10 ** -decimals * (mode === 'down' ? 1 : 0.5);
  const form = conventions[measure];
  const change = conventions.visibilityChange;
  // A change of rounded shares is as far off as both of them.
  const before = measure === 'visibilityChange' && change.of === 'rounded' ? 2 * stepOf(conventions.visibility) : 0;
  const noise = form.decimals === null ? UNROUNDED : NOISE;
  return stepOf(form) + before + noise * Math.max(1, Math.abs(exact));
}
