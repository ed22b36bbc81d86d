import type { Conventions } from './conventions.ts';
import { aboutConvention, describeConvention } from './descriptions.ts';
import type { StoredFinding } from './findings.ts';

/**
 * Whether the value of a point is known: `determined` by upstream's responses, `configured`, `undetermined` for lack of evidence, or
 * `contradicted` because upstream's responses agree with no candidate.
 */
export type PointState = 'determined' | 'configured' | 'undetermined' | 'contradicted';

/** A point that the specification leaves open. */
export interface CalibratedPoint {
  readonly name: string;
  readonly about: string;
  readonly state: PointState;
  /** The value that is used, and the same in words. */
  readonly value: unknown;
  readonly text: string;
  /** Compared facts, and those that the value explains. */
  readonly compared: number;
  readonly agreed: number;
  /** How sure the value is, from 0 to 1 (`Finding.confidence`); null unless it is determined. */
  readonly confidence: number | null;
  readonly note: string;
  /** Candidates with the number of facts that each explains, best first. */
  readonly candidates: readonly { readonly value: unknown; readonly text: string; readonly agreed: number }[];
  /** Time of the calibration, epoch milliseconds; null if there was none. */
  readonly decidedAt: number | null;
}

/** Returns a point with the value that is used; `stored` is null if it was never calibrated. */
export function toPoint(
  name: keyof Conventions,
  used: Conventions,
  stored: StoredFinding | null,
  isConfigured: boolean,
): CalibratedPoint {
  return {
    name,
    about: aboutConvention(name),
    state: isConfigured ? 'configured' : stateOf(stored),
    value: used[name],
    text: describeConvention(name, used[name]),
    compared: stored?.compared ?? 0,
    agreed: stored?.agreed ?? 0,
    confidence: isConfigured ? null : (stored?.confidence ?? null),
    note: stored?.note ?? 'not calibrated yet',
    candidates: (stored?.candidates ?? []).map(({ value, agreed }) => ({
      value,
      text: describeConvention(name, value),
      agreed,
    })),
    decidedAt: stored?.decidedAt ?? null,
  };
}

function stateOf(stored: StoredFinding | null): PointState {
  if (stored?.source === 'learned') return 'determined';
  return stored?.contradicted === true ? 'contradicted' : 'undetermined';
}
