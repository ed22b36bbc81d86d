import { decompose } from './decompose.ts';
import type { Companion, Counted, Counts } from './read-counts.ts';
import { type Sides, type Sums, without } from './sums.ts';
import { type JudgedChange, judgeChanges } from './tests-of-change.ts';

/**
 * A competitor or a domain, and how the metric differs between responses with and without it. It is an association: the responses also
 * differ in other ways, and a competitor may be mentioned because the brand is not.
 */
export interface Association {
  readonly kind: Companion;
  readonly id: string;
  /** Responses with it, of all responses in the period. */
  readonly occurrence: Sides;
  /** The change of its share of responses. */
  readonly test: JudgedChange;
  /** The metric in responses with it and without it. */
  readonly with: Sides;
  readonly without: Sides;
  /** The effects add up to the change of the metric: it occurs in more or fewer responses, and the metric changed in both parts. */
  readonly occurrenceEffect: number;
  readonly withEffect: number;
  readonly withoutEffect: number;
}

/** Returns the associations of a metric with competitors or domains. Significant changes first, then the largest effect. */
export function associationsOf({ total, companions }: Counts, kind: Companion): Association[] {
  const found = [...companions[kind]].map(([id, one]) => ({
    id,
    occurrence: {
      before: shareSums(one.responses.before, total.responses.before),
      after: shareSums(one.responses.after, total.responses.after),
    },
    with: sidesOf(one),
    without: { before: without(total.before, one.before), after: without(total.after, one.after) },
  }));
  // The occurrence is a share of responses for every metric, so it has the test of visibility.
  const tests = judgeChanges(
    'visibility',
    found.map(({ occurrence }) => occurrence),
  );
  const associations = found.flatMap((one, index): Association[] => {
    const parts = decompose(
      new Map([
        ['with', one.with],
        ['without', one.without],
      ]),
    );
    if (parts === null) return [];
    const effectOf = (id: string): number => parts.members.find((member) => member.id === id)?.rate ?? 0;
    const effects = { withEffect: effectOf('with'), withoutEffect: effectOf('without') };
    return [{ kind, ...one, test: tests[index] as JudgedChange, occurrenceEffect: parts.mix, ...effects }];
  });
  return associations.sort(
    (a, b) =>
      Number(b.test.isSignificant) - Number(a.test.isSignificant) ||
      Math.abs(b.occurrenceEffect) - Math.abs(a.occurrenceEffect),
  );
}

function sidesOf({ before, after }: Counted): Sides {
  return { before, after };
}

function shareSums(part: number, whole: number): Sums {
  return { n: whole, y: part, x: whole, yy: part, xy: part, xx: whole };
}
