import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fitLabels } from '../../src/analytics/calibration/candidates-labels.ts';
import {
  fitChange,
  fitDomainShare,
  fitEmpty,
  fitMean,
  fitShare,
  roundings,
  type ShareRow,
} from '../../src/analytics/calibration/candidates-numbers.ts';
import {
  type Conventions,
  defaultConventions,
  type Rounding,
  type ShareForm,
} from '../../src/analytics/calibration/conventions.ts';
import { type LabelRow, ROUNDING_MODES } from '../../src/analytics/calibration/label-weights.ts';
import { type MentionCounts, round, share, visibilityChange } from '../../src/analytics/numbers/definitions.ts';
import { countOf } from '../support/counts.ts';

const SMALLEST_SAMPLE = 150;
const rounding = fc.constantFrom(...roundings);
const form: fc.Arbitrary<ShareForm> = fc
  .tuple(rounding, fc.constantFrom(1 as const, 100 as const))
  .map(([rounded, whole]) => ({ ...rounded, whole }));

const counts = fc
  .tuple(fc.integer({ min: 1, max: 400 }), fc.nat(400))
  .map(([whole, part]) => ({ whole, part: part % (whole + 1) }));
// No bias towards small numbers: conventions show in many ordinary numbers, not in edge cases.
const sample = fc.noBias(fc.array(counts, { minLength: SMALLEST_SAMPLE, maxLength: 400 }));

// Two roundings are equivalent if they agree on every row.
function isAsGood<Row>(rows: readonly Row[], wanted: (row: Row) => number | null, found: (row: Row) => number | null) {
  return rows.every((row) => wanted(row) === found(row));
}

function reportedShares(rows: readonly Omit<ShareRow, 'reported'>[], by: ShareForm): ShareRow[] {
  return rows.map((row) => ({ ...row, reported: share(defaultConventions, by, row.part, row.whole) as number }));
}

describe('fitShare', () => {
  test('finds every form of a share', () => {
    fc.assert(
      fc.property(form, sample, (wanted, sampled) => {
        const rows = reportedShares(sampled, wanted);
        const { value, source, compared, agreed, largestError } = fitShare(rows, defaultConventions.visibility);
        // With few decimals, all shares are 0 or 1, which fractions and percentages have in common.
        fc.pre(new Set(rows.map(({ reported }) => reported)).size > 3);
        expect({ source, compared, agreed }).toEqual({ source: 'learned', compared: rows.length, agreed: rows.length });
        expect(largestError).toBeLessThan(1e-9);
        expect({ whole: value.whole, decimals: value.decimals }).toEqual({
          whole: wanted.whole,
          decimals: wanted.decimals,
        });
        const by = (chosen: ShareForm) => (row: ShareRow) => share(defaultConventions, chosen, row.part, row.whole);
        expect(isAsGood(rows, by(wanted), by(value))).toBe(true);
      }),
      { numRuns: countOf(20, 180), endOnFailure: true },
    );
  });

  test('tolerates a few inconsistent rows and rejects many', () => {
    fc.assert(
      fc.property(fc.constantFrom(1 as const, 100 as const), sample, fc.boolean(), (whole, sampled, many) => {
        const rows = reportedShares(sampled, { ...defaultConventions.visibility, whole, decimals: 4 });
        const spoiled = rows.map((row, index) =>
          index % (many ? 5 : 40) === 0 ? { ...row, reported: row.reported + 0.01 * whole } : row,
        );
        const { value, source, contradicted } = fitShare(spoiled, defaultConventions.visibility);
        expect({ source, contradicted }).toEqual({ source: many ? 'default' : 'learned', contradicted: many });
        expect(value.whole).toBe(many ? 100 : whole);
      }),
      { numRuns: countOf(10, 90), endOnFailure: true },
    );
  });

  test('keeps the default for noise, for no rows and for rows that every form explains', () => {
    fc.assert(
      fc.property(
        sample,
        fc.array(fc.double({ min: 0, max: 100, noNaN: true }), { minLength: 400, maxLength: 400 }),
        (sampled, noise) => {
          const rows = sampled.map((row, index) => ({ ...row, reported: noise[index] as number }));
          expect(fitShare(rows, defaultConventions.visibility)).toMatchObject({
            source: 'default',
            contradicted: true,
          });
          const zeros = sampled.map(({ whole }) => ({ whole, part: 0, reported: 0 }));
          const silent = fitShare(zeros, defaultConventions.visibility);
          expect(silent).toMatchObject({ source: 'default', contradicted: false, agreed: zeros.length });
          expect(silent.note).toContain('all definitions explain');
        },
      ),
      { numRuns: 10, endOnFailure: true },
    );
    expect(fitShare([], defaultConventions.visibility)).toMatchObject({
      source: 'default',
      compared: 0,
      largestError: null,
    });
    const two = reportedShares(
      [
        { part: 1, whole: 3 },
        { part: 2, whole: 7 },
      ],
      { ...defaultConventions.visibility, whole: 1 },
    );
    expect(fitShare(two, defaultConventions.visibility)).toMatchObject({ source: 'default', contradicted: false });
  });

  test('keeps the prior form if the rows allow several', () => {
    const halves = [0, 50, 100, 50].map((percent) => ({ part: percent / 50, whole: 2, reported: percent }));
    expect(fitShare(halves, defaultConventions.visibility).value).toEqual(defaultConventions.visibility);
    const two = { ...defaultConventions.visibility, decimals: 2 };
    expect(fitShare(halves, two)).toMatchObject({ value: two, source: 'learned' });
  });
});

test('fitDomainShare finds the form and whether it is a share of citations, of responses or of citing responses', () => {
  const domain = fc.record({ citations: counts, responses: counts, citing: counts });
  fc.assert(
    fc.property(
      form,
      fc.constantFrom('citations' as const, 'responses' as const, 'citing' as const),
      fc.noBias(fc.array(domain, { minLength: SMALLEST_SAMPLE, maxLength: 200 })),
      (written, of, sampled) => {
        const wanted = { ...written, of };
        const rows = sampled.map((row) => ({
          ...row,
          reported: share(defaultConventions, wanted, row[of].part, row[of].whole) as number,
        }));
        const { value, source, agreed } = fitDomainShare(rows, defaultConventions.domainShare);
        expect({ source, agreed, of: value.of, whole: value.whole, decimals: value.decimals }).toEqual({
          source: 'learned',
          agreed: rows.length,
          of,
          whole: wanted.whole,
          decimals: wanted.decimals,
        });
      },
    ),
    { numRuns: countOf(10, 90), endOnFailure: true },
  );
});

test('fitChange finds how a change is computed', () => {
  const tally = counts.map(({ part, whole }): MentionCounts => {
    return { responses: whole, mentions: part, positions: { count: 0, sum: 0 }, labels: {} };
  });
  const pairs = fc.noBias(fc.array(fc.tuple(tally, tally), { minLength: SMALLEST_SAMPLE, maxLength: 200 }));
  const way = fc.record({
    as: fc.constantFrom('difference' as const, 'relative' as const),
    of: fc.constantFrom('exact' as const, 'rounded' as const),
    whole: fc.constantFrom(1 as const, 100 as const),
    decimals: fc.constantFrom(2, 3, 4, null),
  });
  fc.assert(
    fc.property(way, pairs, (chosen, sampled) => {
      const visibility = { whole: chosen.whole, decimals: chosen.whole === 100 ? 0 : 2, mode: 'half-away' } as const;
      const wanted: Conventions = {
        ...defaultConventions,
        visibility,
        visibilityChange: { ...chosen, mode: 'half-away' },
      };
      const rows = sampled.flatMap(([now, before]) => {
        const reported = visibilityChange(wanted, now, before);
        return reported === null ? [] : [{ now, before, reported }];
      });
      const { value, source, agreed } = fitChange(
        rows,
        { ...defaultConventions.visibilityChange, ...visibility },
        wanted,
      );
      expect({ source, agreed }).toEqual({ source: 'learned', agreed: rows.length });
      expect({ as: value.as, of: value.of, whole: value.whole }).toEqual({
        as: chosen.as,
        of: chosen.of,
        whole: chosen.whole,
      });
    }),
    { numRuns: countOf(8, 60), endOnFailure: true },
  );
});

test('fitMean finds the rounding of a mean', () => {
  const sums = fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 600 })), {
    minLength: SMALLEST_SAMPLE,
    maxLength: 300,
  });
  fc.assert(
    fc.property(rounding, sums, (wanted, sampled) => {
      const rows = sampled.map(([count, sum]) => ({ count, sum, reported: round(wanted, sum / count) as number }));
      const { value, source, agreed } = fitMean(rows, defaultConventions.avgPosition);
      expect({ source, agreed, decimals: value.decimals }).toEqual({
        source: 'learned',
        agreed: rows.length,
        decimals: wanted.decimals,
      });
    }),
    { numRuns: countOf(20, 180), endOnFailure: true },
  );
});

describe('fitLabels', () => {
  const names = ['great', 'good', 'so-so', 'poor', 'unheard of'];
  const width = { minLength: names.length, maxLength: names.length };
  const steps = fc.uniqueArray(fc.integer({ min: -40, max: 40 }), width);
  const times = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: names.length, maxLength: names.length });
  const digits: fc.Arbitrary<Rounding> = fc
    .constantFrom(1, 2, 3, null)
    .map((decimals) => ({ decimals, mode: 'half-away' }) as const);

  test('finds the exact worths of labels', () => {
    const grid = fc.constantFrom(1, 2, 4, 10);
    fc.assert(
      fc.property(
        steps,
        grid,
        digits,
        fc.array(times, { minLength: 400, maxLength: 500 }),
        (given, parts, written, sampled) => {
          const weights = given.map((step) => step / parts);
          const rows = rowsOf(sampled, weights, written);
          const { labels, sentiment } = fitLabels(names, rows, defaultConventions);
          expect(labels).toMatchObject({ source: 'learned', compared: rows.length, agreed: rows.length });
          expect(labels.value).toEqual(Object.fromEntries(names.map((name, index) => [name, weights[index]])));
          expect(sentiment.value.decimals).toBe(written.decimals);
        },
      ),
      { numRuns: countOf(13, 120), endOnFailure: true },
    );
  });

  test('finds odd worths within 0.05', () => {
    // No bias towards small numbers: means do not determine label weights that differ by less than the last digit of the means.
    const odd = fc.noBias(fc.uniqueArray(fc.integer({ min: -9999, max: 9999 }), width));
    fc.assert(
      fc.property(odd, fc.noBias(fc.array(times, { minLength: 400, maxLength: 500 })), (given, sampled) => {
        const weights = given.map((part) => part / 100);
        const rows = rowsOf(sampled, weights, { decimals: 1, mode: 'half-away' });
        const { labels } = fitLabels(names, rows, defaultConventions);
        expect(labels.source).toBe('learned');
        for (const [index, name] of names.entries()) {
          expect(Math.abs((labels.value[name] ?? 0) - (weights[index] as number))).toBeLessThan(0.05);
        }
      }),
      { numRuns: countOf(8, 45), endOnFailure: true },
    );
  });

  test('explains every row if label weights are nearly as small as the last digit of the means', () => {
    for (const weights of [
      [-0.04, -0.07, 0.07, 0.1, -0.01],
      [-0.3, 0.12, 0.41, -0.07, 0.26],
      [-1.32, 0.95, 1.71, 0.08, -0.46],
    ]) {
      for (let seed = 1; seed <= countOf(3, 10); seed++) {
        const sampled = fc.sample(fc.noBias(times), { numRuns: 400, seed });
        for (const mode of ROUNDING_MODES) {
          const rows = rowsOf(sampled, weights, { decimals: 1, mode });
          const { compared, agreed } = fitLabels(names, rows, defaultConventions).labels;
          expect({ weights, seed, mode, agreed }).toEqual({ weights, seed, mode, agreed: compared });
        }
      }
    }
  });

  test('finds the worths despite a few inconsistent rows', () => {
    fc.assert(
      fc.property(steps, fc.noBias(fc.array(times, { minLength: 400, maxLength: 500 })), (given, sampled) => {
        const rows = rowsOf(sampled, given, { decimals: 1, mode: 'half-away' }).map((row, index) =>
          index % 30 === 0 ? { ...row, reported: row.reported + 17 } : row,
        );
        const { labels } = fitLabels(names, rows, defaultConventions);
        expect(labels).toMatchObject({ source: 'learned', largestError: expect.closeTo(17, 0) });
        expect(labels.value).toEqual(Object.fromEntries(names.map((name, index) => [name, given[index]])));
      }),
      { numRuns: 10, endOnFailure: true },
    );
  });

  test('finds that a label is excluded from the mean', () => {
    const sampled = fc.sample(times, { numRuns: 300, seed: 5 });
    const { labels } = fitLabels(
      names,
      rowsOf(sampled, [3, 2, 1, 0, null], { decimals: 2, mode: 'half-away' }),
      defaultConventions,
    );
    expect(labels).toMatchObject({ source: 'learned', value: { great: 3, good: 2, 'so-so': 1, poor: 0 } });
  });

  test('keeps default worths of labels that do not occur, unless the others differ from the defaults', () => {
    const usual = ['positive', 'negative'];
    const rows = rowsOf(fc.sample(fc.tuple(fc.nat(5), fc.nat(5)), { numRuns: 40, seed: 6 }), [100, 0], {
      decimals: 1,
      mode: 'half-away',
    });
    // A label that does not occur keeps its default worth.
    expect(fitLabels(usual, rows, defaultConventions).labels).toMatchObject({
      source: 'learned',
      value: defaultConventions.labels,
    });
    const other = rowsOf(fc.sample(fc.tuple(fc.nat(5), fc.nat(5)), { numRuns: 40, seed: 6 }), [1, -1], {
      decimals: 2,
      mode: 'half-away',
    });
    expect(fitLabels(usual, other, defaultConventions).labels.value).toEqual({ positive: 1, negative: -1 });
  });

  test('requires more rows than labels', () => {
    const few = rowsOf(
      [
        [1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 1, 1, 0, 0],
      ],
      [7, 8, 9, 0, 0],
      { decimals: 2, mode: 'half-away' },
    );
    const { labels, sentiment } = fitLabels(names, few, defaultConventions);
    expect(labels).toMatchObject({ source: 'default', value: defaultConventions.labels, contradicted: false });
    expect(sentiment).toMatchObject({ source: 'default', value: defaultConventions.sentiment });
    expect(fitLabels([], [], defaultConventions).labels).toMatchObject({ source: 'default', compared: 0 });
  });

  test('keeps the defaults if no worths explain the rows', () => {
    const random = fc.sample(fc.double({ min: -1, max: 1, noNaN: true }), { numRuns: 200, seed: 3 });
    const rows = fc
      .sample(times, { numRuns: 200, seed: 4 })
      .map((row, index) => ({ times: row, reported: random[index] as number }));
    const { labels } = fitLabels(names, rows, defaultConventions);
    expect(labels).toMatchObject({ source: 'default', value: defaultConventions.labels, contradicted: true });
    expect(labels.note).toMatch(/^no worths explain the means: the best fit \d+ of 200 rows, largest error /);
  });

  function rowsOf(
    sampled: readonly (readonly number[])[],
    given: readonly (number | null)[],
    written: Rounding,
  ): LabelRow[] {
    return sampled.flatMap((row) => {
      let [sum, count] = [0, 0];
      for (const [index, number] of row.entries()) {
        const value = given[index] ?? null;
        if (value === null) continue;
        sum += number * value;
        count += number;
      }
      return count === 0 ? [] : [{ times: row, reported: round(written, sum / count) as number }];
    });
  }
});

test('fitEmpty finds the placeholder that nearly all rows have', () => {
  const of = (nulls: number, zeros: number) => [...new Array(nulls).fill(null), ...new Array(zeros).fill(0)];
  expect(fitEmpty(of(10, 0), 0)).toMatchObject({ value: null, source: 'learned' });
  expect(fitEmpty(of(0, 10), null)).toMatchObject({ value: 0, source: 'learned' });
  expect(fitEmpty(of(1, 0), 0)).toMatchObject({ value: null, source: 'learned' });
  expect(fitEmpty([], 0)).toMatchObject({ value: 0, source: 'default', contradicted: false });
  expect(fitEmpty(of(5, 5), 0)).toMatchObject({ value: 0, source: 'default', contradicted: true });
});
