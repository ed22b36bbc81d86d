import { describe, expect, test } from 'vitest';
import { retryConflicts, toDatabaseFailure } from '../../src/base/postgres-errors.ts';
import { hurriedClock } from '../support/clocks.ts';

const clock = hurriedClock(() => 0);
const failure = (code?: string) => Object.assign(new Error('deadlock detected'), code === undefined ? {} : { code });

describe('a failure of PostgreSQL', () => {
  test.for<[string | undefined, string, boolean]>([
    [undefined, 'does not answer', true],
    ['ECONNREFUSED', 'does not answer', true],
    ['EPIPE', 'does not answer', true],
    ['40P01', 'rolled a statement back because of others', true],
    ['40001', 'rolled a statement back because of others', true],
    ['53300', 'has no resources left', true],
    ['55P03', 'could not lock what a statement needs', true],
    ['57P01', 'is shutting down or ended the statement', true],
    ['25006', 'takes no writes now', true],
    ['28P01', 'refuses', false],
    ['3D000', 'refuses', false],
    ['BM001', 'refuses', false],
  ])('with the code %s is named "%s"; it passes: %s', ([code, what, passes]) => {
    expect(toDatabaseFailure(failure(code))).toMatchObject({ what, passes });
  });
});

describe('a statement', () => {
  const failing = (times: number, code: string) => {
    let count = 0;
    return { run: async () => (++count <= times ? Promise.reject(failure(code)) : 'done'), count: () => count };
  };

  test.for(['40P01', '40001'])('that was rolled back with %s is repeated, 10 times at most', async (code) => {
    const passing = failing(9, code);
    expect(await retryConflicts(clock, passing.run)).toBe('done');
    const lasting = failing(99, code);
    await expect(retryConflicts(clock, lasting.run)).rejects.toMatchObject({ code });
    expect(lasting.count()).toBe(10);
  });

  test('that failed for another reason is not repeated', async () => {
    const refused = failing(1, '28P01');
    await expect(retryConflicts(clock, refused.run)).rejects.toMatchObject({ code: '28P01' });
    expect(refused.count()).toBe(1);
  });
});
