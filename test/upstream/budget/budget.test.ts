import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Window } from '../../../src/sandbox/sandbox-limiter.ts';
import { createBudget } from '../../../src/upstream/budget/budget.ts';
import { virtualClock } from '../../support/clocks.ts';
import { countOf } from '../../support/counts.ts';
import { countingServer, MINUTE_MS, mostInAnyMinute, sharedLog, type Travel, work } from './simulation.ts';

const travel = fc.record({
  thereMs: fc.oneof(fc.nat(50), fc.nat(900), fc.nat(9_000)),
  backMs: fc.option(fc.oneof(fc.nat(50), fc.nat(2_000)), { freq: 12 }),
});
const quick: Travel = { thereMs: 0, backMs: 0 };

describe('never more than the limit in any 60 seconds', () => {
  test('for any limit, share, number of processes and lanes, and latency of each request', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 90, max: 200 })),
          share: fc.constantFrom(1, 0.7, 0.2),
          processes: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
          travels: fc.array(travel, { minLength: 1, maxLength: 20 }),
          window: fc.constantFrom<Window>('sliding', 'fixed'),
        }),
        async ({ limit, share, processes, travels, window }) => {
          const clock = virtualClock();
          const server = countingServer(limit, window, true);
          const shared = sharedLog();
          let next = 0;
          // The first answer has the limit; until then the documented limit is assumed. Occasional answers without
          // latency prevent shortened holds.
          const travelOf = (): Travel => (next++ % 8 === 0 ? quick : (travels[next % travels.length] as Travel));
          const workers = processes.map((lanes) =>
            work(createBudget({ clock, share, log: shared.open() }), clock, server, travelOf, lanes),
          );
          await clock.advanceTo(4 * MINUTE_MS);
          for (const worker of workers) worker.abort();
          expect(mostInAnyMinute(server.arrivals)).toBeLessThanOrEqual(Math.max(1, Math.floor(limit * share)));
          expect(server.refused()).toBe(0);
          expect(server.arrivals.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: countOf(10, 400) },
    );
  });

  test('for any latencies if upstream counts at a fixed fraction of the latency', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 90, max: 200 })),
          processes: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 3 }),
          latencies: fc.array(fc.oneof(fc.nat(100), fc.nat(3_000), fc.nat(9_000)), { minLength: 1, maxLength: 6 }),
          countedAfter: fc.constantFrom(0, 0.3, 1),
          window: fc.constantFrom<Window>('sliding', 'fixed'),
        }),
        async ({ limit, processes, latencies, countedAfter, window }) => {
          const clock = virtualClock();
          const server = countingServer(limit, window, true);
          const shared = sharedLog();
          let next = 0;
          const travelOf = (): Travel => {
            const latencyMs = latencies[next++ % latencies.length] as number;
            const thereMs = Math.round(latencyMs * countedAfter);
            return { thereMs, backMs: latencyMs - thereMs };
          };
          const workers = processes.map((lanes) =>
            work(createBudget({ clock, log: shared.open() }), clock, server, travelOf, lanes),
          );
          await clock.advanceTo(6 * MINUTE_MS);
          for (const worker of workers) worker.abort();
          expect(server.refused()).toBe(0);
          expect(mostInAnyMinute(server.arrivals)).toBeLessThanOrEqual(Math.max(1, limit - Math.floor(limit / 100)));
        },
      ),
      { numRuns: countOf(10, 400) },
    );
  });

  test('across restarts and kills of several processes while the wall clock is set', async () => {
    const life = fc.record({
      runMs: fc.integer({ min: 1, max: 70_000 }),
      pauseMs: fc.nat(20_000),
      jumpMs: fc.integer({ min: -3_600_000, max: 3_600_000 }),
      isKilled: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(life, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
        async (processes) => {
          const clock = virtualClock();
          const server = countingServer(120, 'sliding', true);
          const shared = sharedLog();
          const live = async (lives: (typeof processes)[number]): Promise<void> => {
            for (const { runMs, pauseMs, jumpMs, isKilled } of lives) {
              const log = shared.open();
              const budget = createBudget({ clock, log });
              const worker = work(budget, clock, server, () => ({ thereMs: 20, backMs: 20 }), 8);
              await clock.sleep(runMs);
              if (isKilled) log.append = () => undefined;
              worker.abort();
              clock.shiftWall(jumpMs);
              await clock.sleep(pauseMs);
            }
          };
          const all = Promise.all(processes.map(live));
          await clock.advanceTo(7 * MINUTE_MS);
          await all;
          expect(mostInAnyMinute(server.arrivals)).toBeLessThanOrEqual(119);
        },
      ),
      { numRuns: countOf(10, 400) },
    );
  });

  test('after a restart of the machine, when its monotonic clock begins anew', async () => {
    const clock = virtualClock();
    const server = countingServer(120, 'sliding', true);
    const shared = sharedLog();
    await clock.advanceTo(1_000_000);
    const worker = work(createBudget({ clock, log: shared.open() }), clock, server, () => quick, 8);
    await clock.advanceTo(1_010_000);
    worker.abort();
    const again = { ...clock, monotonic: () => clock.monotonic() - 1_000_000 };
    const budget = createBudget({ clock: again, log: shared.open() });
    expect(budget.state().left).toBe(0);
    // By the wall clock, these requests were sent 50 to 60 seconds ago.
    await clock.advanceTo(1_059_000);
    expect(createBudget({ clock: again, log: shared.open() }).state().left).toBe(0);
    await clock.advanceTo(1_071_000);
    expect(budget.state().left).toBe(119);
  });
});

describe('several processes', () => {
  test('are not counted as another user of the key, for any count that upstream reports', async () => {
    const clock = virtualClock();
    const server = countingServer(120, 'sliding', true);
    const shared = sharedLog();
    const workers = [1, 2, 3].map(() =>
      work(createBudget({ clock, log: shared.open() }), clock, server, () => ({ thereMs: 1_500, backMs: 1_500 }), 5),
    );
    await clock.advanceTo(5 * MINUTE_MS);
    for (const worker of workers) worker.abort();
    expect(shared.records.filter(({ kind }) => kind === 'others')).toEqual([]);
    expect(server.arrivals.length / 5).toBeGreaterThan(0.97 * 119);
  });

  test('are served in order, and a process that was killed while waiting is skipped', async () => {
    const clock = virtualClock();
    const shared = sharedLog();
    const { signal } = new AbortController();
    const first = createBudget({ clock, log: shared.open() });
    (await first.acquire(signal)).answered({ limit: 2, remaining: null });
    (await first.acquire(signal)).answered({ limit: 2, remaining: null });
    const order: string[] = [];
    const wait = (name: string): AbortController => {
      const stop = new AbortController();
      const budget = createBudget({ clock, log: shared.open() });
      budget.acquire(stop.signal).then(
        () => order.push(`${name} ${Math.round(clock.monotonic() / 1_000)}`),
        () => undefined,
      );
      return stop;
    };
    await clock.advanceTo(1_000);
    const killedLog = shared.open();
    void createBudget({ clock, log: killedLog }).acquire(signal);
    await clock.advanceTo(2_000);
    killedLog.append = () => {
      throw new Error('killed');
    };
    killedLog.read = () => [];
    wait('one');
    await clock.advanceTo(3_000);
    wait('two');
    await clock.advanceTo(5 * MINUTE_MS);
    // Two slots per minute; the claim of the killed process occupies one of them until it expires.
    expect(order.map((entry) => entry.split(' ')[0])).toEqual(['one', 'two']);
  });
});

describe('the full budget is used while there is work', () => {
  test('and a full share while another user uses the key', async () => {
    const clock = virtualClock();
    const server = countingServer(120, 'sliding', true);
    const worker = work(createBudget({ clock, share: 0.5 }), clock, server, () => ({ thereMs: 50, backMs: 50 }), 8);
    const other = new AbortController();
    const others: number[] = [];
    const alongside = async (): Promise<void> => {
      for (;;) {
        await clock.sleep(1_100, other.signal);
        server.arrive(clock.monotonic());
        others.push(clock.monotonic());
      }
    };
    alongside().catch(() => undefined);
    await clock.advanceTo(10 * MINUTE_MS);
    worker.abort();
    other.abort();
    expect(server.refused()).toBe(0);
    const own = server.arrivals.length - others.length;
    expect(own / 10).toBeGreaterThan(0.9 * 60);
    expect(own / 10).toBeLessThanOrEqual(60);
  });
});

test('a process whose machine slept goes to the end of the queue', async () => {
  const clock = virtualClock();
  const shared = sharedLog();
  const { signal } = new AbortController();
  const early = createBudget({ clock, log: shared.open() });
  (await early.acquire(signal)).answered({ limit: 1, remaining: null });
  let asleep = true;
  const drowsy = { ...clock, sleep: (ms: number) => clock.sleep(asleep ? 200_000 : ms) };
  const order: string[] = [];
  void createBudget({ clock: drowsy, log: shared.open() })
    .acquire(signal)
    .then(() => order.push('drowsy'));
  await clock.advanceTo(1_000);
  asleep = false;
  void createBudget({ clock, log: shared.open() })
    .acquire(signal)
    .then((slot) => {
      order.push('awake');
      slot.answered({ limit: 1, remaining: null });
    });
  await clock.advanceTo(6 * MINUTE_MS);
  expect(order).toEqual(['awake', 'drowsy']);
});
