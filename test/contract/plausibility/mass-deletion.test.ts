import { expect, test } from 'vitest';
import { declarations } from '../../../schemas/catalogue.ts';
import { isProven, nextRetryAt, RETRIES_MAX } from '../../../src/contract/plausibility/completeness.ts';
import { daysToKeep, hasDropped, isMassDeletion, type Loss } from '../../../src/contract/plausibility/mass-deletion.ts';

const list = { change: { kind: 'set' } } as const;
const named = (name: string) => {
  const found = declarations.find((declaration) => declaration.name === name);
  if (found === undefined) throw new Error(`no resource ${name}`);
  return found;
};

test.for([
  [10, 10, false],
  [11, 5, false],
  [11, 6, true],
  [1_000, 500, false],
  [1_000, 501, true],
  [1_000, 0, false],
] as const)('isMassDeletion of %i rows with %i lost is %s', ([before, lost, expected]) => {
  expect(isMassDeletion(list, { before, lost })).toBe(expected);
});

test('every lost brand must be confirmed; action plans and recent reports never need confirmation', () => {
  expect(isMassDeletion(named('brands'), { before: 2, lost: 1 })).toBe(true);
  expect(isMassDeletion(named('action_plans'), { before: 50, lost: 50 })).toBe(false);
  expect(isMassDeletion(named('metrics_prompts'), { before: 50, lost: 50 })).toBe(false);
});

test('daysToKeep returns days with fewer remaining rows than counted, or all days if the counts dropped', () => {
  const losses = new Map<string, Loss>([
    ['2026-03-01', { before: 20, lost: 20 }],
    ['2026-03-02', { before: 20, lost: 2 }],
    ['2026-03-03', { before: 20, lost: 20 }],
  ]);
  const counts = { '2026-03-01': 20, '2026-03-02': 18 };
  expect([...daysToKeep(list, { counts, keep: false }, losses)]).toEqual(['2026-03-01']);
  expect(daysToKeep(list, { counts, keep: true }, losses).size).toBe(3);
  expect(daysToKeep(list, { counts: null, keep: false }, losses).size).toBe(3);
  expect(daysToKeep(list, { counts: null, keep: false }, new Map([['', { before: 20, lost: 3 }]])).size).toBe(0);
  expect(hasDropped(list, [{ upstream: 5, stored: 20 }])).toBe(true);
  expect(hasDropped(list, [{ upstream: 15, stored: 20 }])).toBe(false);
});

test('a differing day is read again in the next two runs, then after 6 hours, then every 30 days', () => {
  const hours = Array.from({ length: RETRIES_MAX }, (_, index) => nextRetryAt(index + 1, 0) / 3_600_000);
  expect(hours).toEqual([0, 0, 6, 720]);
});

test('today is proven if no counted row is missing, yesterday if more rows are stored, earlier days if all figures agree', () => {
  const day = { upstream: 10, stored: 12, agreed: false };
  expect(isProven({ ...day, day: '2026-03-15' }, '2026-03-15')).toBe(true);
  expect(isProven({ ...day, day: '2026-03-15', stored: 9 }, '2026-03-15')).toBe(false);
  expect(isProven({ ...day, day: '2026-03-15', stored: 10 }, '2026-03-15')).toBe(true);
  expect(isProven({ ...day, day: '2026-03-14' }, '2026-03-15')).toBe(true);
  expect(isProven({ ...day, day: '2026-03-14', stored: 10 }, '2026-03-15')).toBe(false);
  expect(isProven({ ...day, day: '2026-03-13' }, '2026-03-15')).toBe(false);
  expect(isProven({ ...day, day: '2026-03-14', agreed: true }, '2026-03-15')).toBe(true);
});
