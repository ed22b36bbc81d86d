import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defaultConventions, type Rounding, roundingModes } from '../../src/metrics/calibration/conventions.ts';
import { type LabelRow, ROUNDING_MODES, score } from '../../src/metrics/calibration/label-weights.ts';
import { chooseWorths } from '../../src/metrics/calibration/label-worths.ts';
import { round } from '../../src/metrics/numbers/definitions.ts';
import { countOf } from '../support/counts.ts';

describe('the worths of labels', () => {
  const names = ['great', 'good', 'so-so', 'poor', 'unheard of'];
  const width = { minLength: names.length, maxLength: names.length };
  const steps = fc.uniqueArray(fc.integer({ min: -40, max: 40 }), width);
  const times = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: names.length, maxLength: names.length });
  const digits: fc.Arbitrary<Rounding> = fc
    .constantFrom(1, 2, 3, null)
    .map((decimals) => ({ decimals, mode: 'half-away' }) as const);

  test('are found exactly', () => {
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
          const expected = Object.fromEntries(names.map((name, index) => [name, weights[index]]));
          expect(worthsOf(names, rows)).toEqual(expected);
        },
      ),
      { numRuns: countOf(8, 120), endOnFailure: true },
    );
  });

  test('are found within 0.05 if they are odd', () => {
    // No bias towards small numbers: means do not determine label weights that differ by less than the last digit of the means.
    const odd = fc.noBias(fc.uniqueArray(fc.integer({ min: -9999, max: 9999 }), width));
    fc.assert(
      fc.property(odd, fc.noBias(fc.array(times, { minLength: 400, maxLength: 500 })), (given, sampled) => {
        const weights = given.map((part) => part / 100);
        const rows = rowsOf(sampled, weights, { decimals: 1, mode: 'half-away' });
        const worths = worthsOf(names, rows);
        for (const [index, name] of names.entries()) {
          expect(Math.abs((worths?.[name] ?? Infinity) - (weights[index] as number))).toBeLessThan(0.05);
        }
      }),
      { numRuns: countOf(5, 45), endOnFailure: true },
    );
  });

  test('explain every row if they are nearly as small as the last digit of the means', () => {
    for (const weights of [
      [-0.04, -0.07, 0.07, 0.1, -0.01],
      [-0.3, 0.12, 0.41, -0.07, 0.26],
      [-1.32, 0.95, 1.71, 0.08, -0.46],
    ]) {
      for (let seed = 1; seed <= countOf(1, 100); seed++) {
        const sampled = fc.sample(fc.noBias(times), { numRuns: 400, seed });
        for (const mode of ROUNDING_MODES) {
          const rows = rowsOf(sampled, weights, { decimals: 1, mode });
          const worths = worthsOf(names, rows);
          const found = names.map((name) => worths?.[name] ?? null);
          // Another convention decides between modes that explain as many rows.
          const agreed = Math.max(
            ...roundingModes.map((other) => score(found, rows, { decimals: 1, mode: other }).agreed),
          );
          expect({ weights, seed, mode, agreed }).toEqual({ weights, seed, mode, agreed: rows.length });
        }
      }
    }
  });

  test('are found despite a few inconsistent rows', () => {
    fc.assert(
      fc.property(steps, fc.noBias(fc.array(times, { minLength: 400, maxLength: 500 })), (given, sampled) => {
        const rows = rowsOf(sampled, given, { decimals: 1, mode: 'half-away' }).map((row, index) =>
          index % 30 === 0 ? { ...row, reported: row.reported + 17 } : row,
        );
        expect(worthsOf(names, rows)).toEqual(Object.fromEntries(names.map((name, index) => [name, given[index]])));
      }),
      { numRuns: countOf(5, 30), endOnFailure: true },
    );
  });

  test('leave out a label that is excluded from the mean', () => {
    const sampled = fc.sample(times, { numRuns: 300, seed: 5 });
    const rows = rowsOf(sampled, [3, 2, 1, 0, null], { decimals: 2, mode: 'half-away' });
    expect(worthsOf(names, rows)).toEqual({ great: 3, good: 2, 'so-so': 1, poor: 0 });
  });

  test('stay the default of labels that do not occur, unless the others differ from the defaults', () => {
    const usual = ['positive', 'negative'];
    const rows = rowsOf(fc.sample(fc.tuple(fc.nat(5), fc.nat(5)), { numRuns: 40, seed: 6 }), [100, 0], {
      decimals: 1,
      mode: 'half-away',
    });
    // A label that does not occur keeps its default worth.
    expect(worthsOf(usual, rows)).toEqual(defaultConventions.labels);
    const other = rowsOf(fc.sample(fc.tuple(fc.nat(5), fc.nat(5)), { numRuns: 40, seed: 6 }), [1, -1], {
      decimals: 2,
      mode: 'half-away',
    });
    expect(worthsOf(usual, other)).toEqual({ positive: 1, negative: -1 });
  });

  test('need more rows than labels', () => {
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
    expect(worthsOf(names, few)).toBeNull();
    expect(worthsOf([], [])).toBeNull();
  });

  test('are unknown if none explain the rows', () => {
    const random = fc.sample(fc.double({ min: -1, max: 1, noNaN: true }), { numRuns: 200, seed: 3 });
    const rows = fc
      .sample(times, { numRuns: 200, seed: 4 })
      .map((row, index) => ({ times: row, reported: random[index] as number }));
    expect(worthsOf(names, rows)).toBeNull();
  });

  // Without mentions that have no label.
  function worthsOf(labels: readonly string[], rows: readonly LabelRow[]) {
    const counted = rows.map(({ times: own, reported }) => ({ times: [...own, 0], reported }));
    return chooseWorths(labels, counted, defaultConventions.labels);
  }

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
