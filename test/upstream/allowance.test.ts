import { expect, test } from 'vitest';
import { AllowanceReached, withAllowance } from '../../src/upstream/allowance.ts';
import { createBudget } from '../../src/upstream/budget/budget.ts';
import { virtualClock } from '../support/clocks.ts';
import { openWorkspace } from '../support/workspace.ts';

const { signal } = new AbortController();

test('no request is sent after the deadline, even while waiting for the budget or after a 429', async () => {
  const clock = virtualClock();
  const budget = withAllowance(createBudget({ clock }), { maxRequests: null, deadline: clock.now() + 60_000 }, clock);
  budget.closeGate(600_000);
  const ends: [string, number][] = [];
  for (let index = 0; index < 3; index++) {
    budget.acquire(signal).then(
      () => ends.push(['sent', clock.monotonic()]),
      (thrown: unknown) => ends.push([(thrown as Error).name, clock.monotonic()]),
    );
  }
  await clock.advanceTo(700_000);
  expect(ends).toEqual(Array.from({ length: 3 }, () => [AllowanceReached.name, 60_000]));
});

test('a deadline beyond the maximum timer delay does not abort a request', async () => {
  const clock = virtualClock();
  const slept: number[] = [];
  const watched = {
    ...clock,
    sleep: (ms: number, stop?: AbortSignal): Promise<void> => {
      slept.push(ms);
      return clock.sleep(ms, stop);
    },
  };
  const allowance = { maxRequests: null, deadline: clock.now() + 1e12 };
  await withAllowance(createBudget({ clock: watched }), allowance, watched).acquire(signal);
  expect(Math.max(...slept)).toBeLessThan(2 ** 31);
});

test.for([
  { maxRequests: 1, deadline: null },
  { maxRequests: null, deadline: 0 },
])(
  'a run whose allowance is used up before the first slice ends partial without an error: $maxRequests, $deadline',
  async (allowance) => {
    const workspace = await openWorkspace({ brands: 1, days: 2 });
    const only = ['prompts'];
    const summary = await workspace.sync({ only, allowance });
    expect(summary).toMatchObject({ status: 'partial', error: null, allowance: expect.stringContaining('allowance') });
    expect(summary.requests).toBe(allowance.maxRequests ?? 0);
    expect((await workspace.sync({ only })).status).toBe('complete');
  },
);
