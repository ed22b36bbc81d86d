import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Conventions, defaultConventions, roundingModes } from '../../src/metrics/calibration/conventions.ts';
import { fitPoints } from '../../src/metrics/calibration/fit-points.ts';
import { formPoints } from '../../src/metrics/calibration/points/form-points.ts';
import type { Compared } from '../../src/metrics/calibration/points/point.ts';
import {
  avgPosition,
  type MentionCounts,
  round,
  sentiment,
  share,
  visibilityChange,
  voiceShare,
} from '../../src/metrics/numbers/definitions.ts';
import { countOf } from '../support/counts.ts';

// One report of many groups whose numbers are computed from these counts.
interface Counts {
  readonly now: MentionCounts;
  readonly before: MentionCounts;
  /** Mentions of the brand and its competitors. */
  readonly voices: number;
  readonly cited: { readonly citations: number; readonly responses: number };
}

const LABELS = ['good', 'bad'];

const tally: fc.Arbitrary<MentionCounts> = fc
  .record({
    responses: fc.integer({ min: 1, max: 400 }),
    part: fc.nat(400),
    sum: fc.integer({ min: 1, max: 900 }),
    good: fc.nat(400),
  })
  .map(({ responses, part, sum, good }) => {
    const mentions = 1 + (part % responses);
    const liked = good % (mentions + 1);
    return { responses, mentions, positions: { count: mentions, sum }, labels: { good: liked, bad: mentions - liked } };
  });
const counts: fc.Arbitrary<Counts> = fc.record({
  now: tally,
  before: tally,
  voices: fc.integer({ min: 400, max: 2_000 }),
  // A few domains with most citations: rounded down to whole percents, equal shares of many domains would all be 0.
  cited: fc.record({ citations: fc.nat(10).map((size) => size ** 4), responses: fc.nat(400) }),
});
// No bias towards small numbers: forms show in many ordinary numbers, not in edge cases.
const sample = fc.noBias(fc.array(counts, { minLength: 150, maxLength: 200 }));

const rounding = fc
  .record({ decimals: fc.constantFrom(0, 1, 2, 3, null), mode: fc.constantFrom(...roundingModes) })
  .map((given) => (given.decimals === null ? ({ decimals: null, mode: 'half-away' } as const) : given));
const form = fc.tuple(rounding, fc.constantFrom(1 as const, 100 as const)).map(([given, whole]) => ({
  ...given,
  // With few decimals, all fractions are 0 or 1, which percentages have too.
  decimals: given.decimals === null ? null : given.decimals + (whole === 1 ? 2 : 0),
  whole,
}));

const wanted: fc.Arbitrary<Partial<Conventions>> = fc.record({
  visibility: form,
  shareOfVoice: form,
  avgPosition: rounding,
  sentiment: rounding,
  labels: fc.constantFrom({ good: 1, bad: -1 }, { good: 100, bad: 12.5 }),
  visibilityChange: fc
    .tuple(form, fc.constantFrom('difference' as const, 'relative' as const))
    .map(([given, as]) => ({ ...given, as, of: 'exact' as const })),
  domainShare: fc
    .tuple(form, fc.constantFrom('citations' as const, 'responses' as const, 'citing' as const))
    .map(([given, of]) => ({ ...given, of })),
});

function reportOf(resource: string, rows: readonly Counts[], conventions: Conventions): Compared {
  const wholes = { citations: 0, responses: 1_301, citing: 1_013 };
  for (const { cited } of rows) wholes.citations += cited.citations;
  const data = rows.map(({ now, before, voices, cited }, index) =>
    resource === 'cited_domains'
      ? {
          domain: `d${index}`,
          ...cited,
          share: share(
            conventions,
            conventions.domainShare,
            conventions.domainShare.of === 'citations' ? cited.citations : cited.responses,
            wholes[conventions.domainShare.of],
          ),
        }
      : {
          groupId: `g${index}`,
          responses: now.responses,
          visibility: share(conventions, conventions.visibility, now.mentions, now.responses),
          visibilityChange: visibilityChange(conventions, now, before),
          shareOfVoice: voiceShare(conventions, now.mentions, voices),
          avgPosition: avgPosition(conventions, now),
          sentiment: sentiment(conventions, now),
        },
  );
  return { status: 200, body: { data } };
}

test('every number gets the form with which upstream writes it', async () => {
  await fc.assert(
    fc.asyncProperty(wanted, sample, async (given, rows) => {
      const truth = { ...defaultConventions, ...given };
      const answers = ['metrics_groups', 'cited_domains'].map((resource) => {
        const question = { resource, brandId: 'brand', query: {} };
        const known = { isSettled: true, askedAt: 0, isFresh: true };
        return { ...question, ...known, ...reportOf(resource, rows, truth) };
      });
      const found = await fitPoints({
        points: formPoints,
        answers,
        labels: LABELS,
        conventions: defaultConventions,
        compute: async ({ resource }, _askedAt, conventions) => reportOf(resource, rows, conventions),
      });
      const values = Object.fromEntries(Object.entries(found).map(([name, { value }]) => [name, value]));
      const conventions = { ...defaultConventions, ...values } as Conventions;
      // Without a negative half, two roundings of sentiment are alike.
      for (const name of Object.keys(given).filter((other) => other !== 'sentiment')) {
        expect({ name, source: found[name]?.source, contradicted: found[name]?.contradicted }).toEqual({
          name,
          source: 'learned',
          contradicted: false,
        });
      }
      // Two roundings are equivalent if they agree on every row.
      for (const { resource, body } of answers) expect(reportOf(resource, rows, conventions).body).toEqual(body);
    }),
    { numRuns: countOf(6, 100), endOnFailure: true, verbose: false },
  );
});

test('a change is the difference of the unrounded visibilities, to its last digit', () => {
  fc.assert(
    fc.property(form, tally, tally, (given, now, before) => {
      const visibilityOf = ({ mentions, responses }: MentionCounts): number => (mentions / responses) * given.whole;
      const conventions = {
        ...defaultConventions,
        visibilityChange: { ...given, as: 'difference', of: 'exact' },
      } as const;
      expect(visibilityChange(conventions, now, before)).toBe(round(given, visibilityOf(now) - visibilityOf(before)));
    }),
  );
});
