import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defaultConventions, type Rounding } from '../../src/metrics/calibration/conventions.ts';
import { chooseWorths, type LabelRow } from '../../src/metrics/calibration/label-worths.ts';
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

  test('are found despite a few inconsistent rows', () => {
    fc.assert(
      fc.property(steps, fc.noBias(fc.array(times, { minLength: 400, maxLength: 500 })), (given, sampled) => {
        const rows = rowsOf(sampled, given, { decimals: 1, mode: 'half-away' }).map((row, index) =>
          index % 30 === 0 ? { ...row, reported: row.reported + 1.7 } : row,
        );
        expect(worthsOf(names, rows)).toEqual(Object.fromEntries(names.map((name, index) => [name, given[index]])));
      }),
      { numRuns: countOf(5, 30), endOnFailure: true },
    );
  });

  test('include mentions without a label only if their worth shows', () => {
    const sampled = fc.sample(times, { numRuns: 300, seed: 7 });
    const labels = ['great', 'good', 'so-so', 'poor', ''];
    const written = { decimals: 2, mode: 'half-away' } as const;
    expect(chooseWorths(labels, rowsOf(sampled, [3, 2, 1, 0, 0.5], written), {})).toEqual({
      ...{ great: 3, good: 2, 'so-so': 1, poor: 0, '': 0.5 },
    });
    expect(
      chooseWorths(
        labels,
        rowsOf(
          sampled.map((row) => [...row.slice(0, 4), 0]),
          [3, 2, 1, 0],
          written,
        ),
        {},
      ),
    ).toEqual({ great: 3, good: 2, 'so-so': 1, poor: 0 });
  });

  test.each([
    [0, 'down'],
    [1, 'down'],
    [0, 'half-away'],
    [1, 'half-away'],
  ] as const)(
    'give the same means if they are as small as the last of %i decimals, with the mode %s',
    (decimals, mode) => {
      // Most means are 0, and few rows have one label.
      const times = fc.integer({ min: 1, max: 60 });
      const mixed = fc.sample(fc.tuple(times, times), { numRuns: 150, seed: 8 });
      const sampled = [...mixed, [5, 0], [3, 0], [0, 4], [0, 2]];
      const small = 10 ** -decimals;
      const rows = rowsOf(sampled, [small, -small], { decimals, mode });
      const { good = null, bad = null } = worthsOf(['good', 'bad'], rows) ?? {};
      // Other worths may give the same with another mode.
      const modes = ['down', 'half-away'] as const;
      expect(modes.map((one) => rowsOf(sampled, [good, bad], { decimals, mode: one }))).toContainEqual(rows);
    },
  );

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
      .map((row, index) => ({ shares: sharesOf(row), reported: random[index] as number }));
    expect(worthsOf(names, rows)).toBeNull();
  });

  // Without mentions that have no label.
  function worthsOf(labels: readonly string[], rows: readonly LabelRow[]) {
    const shared = rows.map(({ shares, reported }) => ({ shares: [...shares, 0], reported }));
    return chooseWorths([...labels, ''], shared, defaultConventions.labels);
  }

  function sharesOf(row: readonly number[]): number[] {
    const all = row.reduce((sum, number) => sum + number, 0);
    return row.map((number) => number / Math.max(1, all));
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
      return count === 0 ? [] : [{ shares: sharesOf(row), reported: round(written, sum / count) as number }];
    });
  }
});
