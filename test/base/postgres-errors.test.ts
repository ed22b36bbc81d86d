import { describe, expect, test } from 'vitest';
import { retryConflicts, toDatabaseFailure } from '../../src/base/postgres-errors.ts';
import { leapingClock } from '../support/clocks.ts';

const clock = leapingClock(0);
const failure = (code?: string) => Object.assign(new Error('deadlock detected'), code === undefined ? {} : { code });

describe('toDatabaseFailure', () => {
  test.for<[string | undefined, string, boolean]>([
    [undefined, 'does not answer', true],
    ['ECONNREFUSED', 'does not answer', true],
    ['EPIPE', 'does not answer', true],
    ['40P01', 'rolled back a statement because of a conflict', true],
    ['40001', 'rolled back a statement because of a conflict', true],
    ['53300', 'has no resources left', true],
    ['55P03', 'could not get a lock', true],
    ['57P01', 'is shutting down or canceled the statement', true],
    ['25006', 'does not accept writes now', true],
    ['28P01', 'refuses', false],
    ['3D000', 'refuses', false],
    ['BM001', 'refuses', false],
  ])('classifies the code %s as "%s", transient: %s', ([code, what, passes]) => {
    expect(toDatabaseFailure(failure(code))).toMatchObject({ what, passes });
  });
});

describe('retryConflicts', () => {
  const failing = (times: number, code: string) => {
    let count = 0;
    return { run: async () => (++count <= times ? Promise.reject(failure(code)) : 'done'), count: () => count };
  };

  test.for(['40P01', '40001'])('repeats a statement that was rolled back with %s, up to 10 attempts', async (code) => {
    const passing = failing(9, code);
    expect(await retryConflicts(clock, passing.run)).toBe('done');
    const lasting = failing(99, code);
    await expect(retryConflicts(clock, lasting.run)).rejects.toMatchObject({ code });
    expect(lasting.count()).toBe(10);
  });

  test('does not repeat a statement that failed for another reason', async () => {
    const refused = failing(1, '28P01');
    await expect(retryConflicts(clock, refused.run)).rejects.toMatchObject({ code: '28P01' });
    expect(refused.count()).toBe(1);
  });
});
