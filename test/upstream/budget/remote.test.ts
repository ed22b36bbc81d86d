import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Window } from '../../../src/sandbox/sandbox-limiter.ts';
import { createBudget } from '../../../src/upstream/budget/budget.ts';
import type { BudgetLog, BudgetRecord } from '../../../src/upstream/budget/send-record.ts';
import { type VirtualClock, virtualClock } from '../../support/clocks.ts';
import { countOf } from '../../support/counts.ts';
import { countingServer, MINUTE_MS, mostInAnyMinute, type Travel, work } from './simulation.ts';

// One log whose readers have a configurable delay in each direction, like a remote database.
function remoteLog(clock: VirtualClock, wayMs: () => number) {
  const records: { readonly record: BudgetRecord; readonly at: number }[] = [];
  const open = (): BudgetLog => {
    const unread: BudgetRecord[] = [];
    let next = 0;
    let turn = Promise.resolve();
    const ask = (record: BudgetRecord | null): Promise<void> => {
      turn = turn.then(async () => {
        await clock.sleep(wayMs());
        if (record !== null) records.push({ record, at: clock.monotonic() });
        const fresh = records.slice(next).map((entry) => ({ ...entry, ageMs: clock.monotonic() - entry.at }));
        next = records.length;
        await clock.sleep(wayMs());
        const now = Math.floor(clock.monotonic());
        for (const { record: read, ageMs } of fresh) unread.push({ ...read, monotonicMs: now - ageMs, wallMs: 0 });
      });
      return turn;
    };
    return { append: ask, refresh: () => ask(null), read: () => unread.splice(0), delayMsMax: 10_000 };
  };
  return { open };
}

test('a remote log keeps every 60 seconds within the limit for any delay', async () => {
  const way = fc.oneof({ weight: 20, arbitrary: fc.nat(60) }, { weight: 3, arbitrary: fc.nat(2_000) }, fc.nat(15_000));
  const travel = fc.record({ thereMs: fc.nat(3_000), backMs: fc.option(fc.nat(2_000), { freq: 12 }) });
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 60, max: 150 })),
        share: fc.constantFrom(1, 0.5),
        workers: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }),
        ways: fc.array(way, { minLength: 1, maxLength: 30 }),
        travels: fc.array(travel, { minLength: 1, maxLength: 10 }),
        window: fc.constantFrom<Window>('sliding', 'fixed'),
      }),
      async ({ limit, share, workers, ways, travels, window }) => {
        const clock = virtualClock();
        const server = countingServer(limit, window, true);
        let steps = 0;
        const log = remoteLog(clock, () => ways[steps++ % ways.length] as number);
        // Occasional answers without latency prevent shortened holds.
        let sent = 0;
        const travelOf = (): Travel =>
          sent++ % 8 === 0 ? { thereMs: 0, backMs: 0 } : (travels[sent % travels.length] as Travel);
        const running = workers.map((lanes) =>
          work(createBudget({ clock, share, log: log.open() }), clock, server, travelOf, lanes),
        );
        await clock.advanceTo(6 * MINUTE_MS);
        for (const worker of running) worker.abort();
        expect(server.refused()).toBe(0);
        expect(mostInAnyMinute(server.arrivals)).toBeLessThanOrEqual(Math.max(1, Math.floor(limit * share)));
      },
    ),
    { numRuns: countOf(10, 400) },
  );
});

test('an aborted waiter leaves no claim, at any stage of the exchange with the log', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(900), { minLength: 1, maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 100_000 }),
      async (ways, workers, untilMs) => {
        const clock = virtualClock();
        const server = countingServer(5, 'sliding', true);
        let steps = 0;
        const log = remoteLog(clock, () => ways[steps++ % ways.length] as number);
        const running = workers.map((lanes) => {
          const budget = createBudget({
            clock,
            log: log.open(),
            pace: { take: () => spread(), stop: () => undefined },
          });
          return work(budget, clock, server, () => ({ thereMs: 100, backMs: 100 }), lanes);
        });
        const spread = async (): Promise<number> => {
          await clock.sleep(ways[steps++ % ways.length] as number);
          return steps % 3 === 0 ? 300 : 0;
        };
        await clock.advanceTo(untilMs);
        for (const worker of running) worker.abort();
        // Long enough for all requests, but shorter than the hold of a claim that was not withdrawn.
        await clock.advanceTo(untilMs + 75_000);
        const late = log.open();
        void late.refresh?.();
        await clock.advanceTo(untilMs + 77_000);
        const { capacity, left } = createBudget({ clock, log: late }).state();
        expect(left).toBe(capacity);
      },
    ),
    { numRuns: countOf(10, 400) },
  );
});
