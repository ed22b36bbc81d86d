import { describe, expect, test } from 'vitest';
import { createBudget } from '../../../src/upstream/budget/budget.ts';
import { virtualClock } from '../../support/clocks.ts';
import { sharedLog } from './simulation.ts';

describe("upstream's rate headers", () => {
  const opened = async (limit: number) => {
    const clock = virtualClock();
    const budget = createBudget({ clock });
    const { signal } = new AbortController();
    (await budget.acquire(signal)).answered({ limit, remaining: null });
    const take = async (count: number): Promise<void> => {
      for (let index = 0; index < count; index++)
        (await budget.acquire(signal)).answered({ limit: null, remaining: null });
    };
    return { clock, budget, signal, take };
  };

  test('X-RateLimit-Remaining can only reduce the requests left', async () => {
    const { budget, signal, take } = await opened(120);
    await take(19);
    (await budget.acquire(signal)).answered({ limit: 120, remaining: 119 });
    expect(budget.state().left).toBe(119 - 21);
    (await budget.acquire(signal)).answered({ limit: 120, remaining: 40 });
    expect(budget.state().left).toBe(39);
    (await budget.acquire(signal)).answered({ limit: 120, remaining: 110 });
    expect(budget.state().left).toBe(38);
  });

  test.for([
    ['a limit of 1', { limit: 1, remaining: null }],
    ['nothing left of the largest limit', { limit: 10_000, remaining: 0 }],
    ['nothing left of a limit that is not sent', { limit: null, remaining: 0 }],
  ] as const)('%s, sent once, is obeyed for a minute and then expires', async ([, headers]) => {
    const { clock, budget, signal, take } = await opened(120);
    await take(30);
    (await budget.acquire(signal)).answered(headers);
    expect(budget.state().left).toBe(0);
    const next = budget.acquire(signal);
    await clock.advanceTo(61_000);
    (await next).answered({ limit: 120, remaining: 119 });
    expect(budget.state()).toEqual({ limit: 120, capacity: 119, left: 118 });
  });

  test('closeGate stops all requests for the given time only', async () => {
    const { clock, budget, signal } = await opened(120);
    budget.closeGate(7_000);
    budget.closeGate(2_000);
    const sentAt: number[] = [];
    const lanes = [1, 2, 3].map(async () => {
      await budget.acquire(signal);
      sentAt.push(clock.monotonic());
    });
    await clock.advanceTo(20_000);
    await Promise.all(lanes);
    expect(sentAt).toEqual([7_000, 7_000, 7_000]);
  });

  test('requests of all processes are sent one at a time until the first response has the limit', async () => {
    const clock = virtualClock();
    const shared = sharedLog();
    const budget = createBudget({ clock, log: shared.open() });
    const other = createBudget({ clock, log: shared.open() });
    const { signal } = new AbortController();
    const first = await budget.acquire(signal);
    let sent = 0;
    for (let index = 0; index < 5; index++) void budget.acquire(signal).then(() => sent++);
    void other.acquire(signal).then(() => sent++);
    await clock.advanceTo(3_000);
    expect(sent).toBe(0);
    first.answered({ limit: 3, remaining: 2 });
    await clock.advanceTo(4_000);
    expect(sent).toBe(2);
  });
});
