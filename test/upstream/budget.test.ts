import { setMaxListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLimiter, type Window } from '../../src/sandbox/limiter.ts';
import { type Budget, type BudgetStore, createBudget } from '../../src/upstream/budget.ts';
import { type VirtualClock, virtualClock } from '../support/clocks.ts';

const MINUTE_MS = 60_000;

/** How long a request takes to arrive, and how long its answer takes to come back; null: it never does. */
interface Travel {
  readonly thereMs: number;
  readonly backMs: number | null;
}

// A server that counts at arrival, as the specification's does, and tells what is left.
function countingServer(limit: number, window: Window, tells: boolean) {
  const admit = createLimiter(limit, window, true);
  const arrivals: number[] = [];
  let refused = 0;
  return {
    arrivals,
    refused: () => refused,
    arrive: (atMs: number) => {
      const { allowed, remaining } = admit('key', atMs);
      arrivals.push(atMs);
      if (!allowed) refused += 1;
      return tells && allowed ? { limit, remaining } : { limit: tells ? limit : null, remaining: null };
    },
  };
}

type Server = ReturnType<typeof countingServer>;

// Sends until told to stop, `lanes` requests at a time.
function work(
  budget: Budget,
  clock: VirtualClock,
  server: Server,
  travelOf: () => Travel,
  lanes: number,
): AbortController {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const lane = async (): Promise<void> => {
    for (;;) {
      const slot = await budget.acquire(stop.signal);
      const { thereMs, backMs } = travelOf();
      await clock.sleep(thereMs, stop.signal);
      const headers = server.arrive(clock.monotonic());
      await clock.sleep(backMs ?? 5_000, stop.signal);
      if (backMs === null) slot.failed();
      else slot.answered(headers);
    }
  };
  for (let index = 0; index < lanes; index++) lane().catch(() => undefined);
  return stop;
}

// The most arrivals in any 60 seconds; a sliding window is the strictest way to count, and contains every fixed one.
function mostInAnyMinute(arrivals: readonly number[]): number {
  const sorted = arrivals.toSorted((a, b) => a - b);
  let most = 0;
  for (let first = 0, last = 0; last < sorted.length; last++) {
    while ((sorted[last] as number) - (sorted[first] as number) >= MINUTE_MS) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

function memoryStore(clock: VirtualClock): BudgetStore & { readonly times: number[] } {
  const times: number[] = [];
  let limit: number | null = null;
  return {
    times,
    load: () => ({ sentAt: times.filter((time) => time > clock.now() - 2 * MINUTE_MS), limit }),
    append: (at) => times.push(at),
    remember: (named) => {
      limit = named;
    },
  };
}

const travel = fc.record({
  thereMs: fc.oneof(fc.nat(50), fc.nat(900), fc.nat(9_000)),
  backMs: fc.option(fc.oneof(fc.nat(50), fc.nat(2_000)), { freq: 12 }),
});

describe('never more than the limit in any 60 seconds', () => {
  test('whatever the limit, the share, the lanes and the way of each request', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 90, max: 200 })),
          share: fc.constantFrom(1, 0.7, 0.2),
          lanes: fc.integer({ min: 1, max: 12 }),
          travels: fc.array(travel, { minLength: 1, maxLength: 20 }),
          window: fc.constantFrom<Window>('sliding', 'fixed'),
        }),
        async ({ limit, share, lanes, travels, window }) => {
          const clock = virtualClock();
          const server = countingServer(limit, window, true);
          const budget = createBudget({ clock, share });
          let next = 0;
          // The first answer tells the limit; until then it is taken to be the documented one.
          const first = { thereMs: 10, backMs: 10 };
          const travelOf = (): Travel => (next === 0 ? first : (travels[next % travels.length] as Travel));
          const stop = work(budget, clock, server, () => ({ ...travelOf(), index: next++ }), lanes);
          await clock.advanceTo(3 * MINUTE_MS);
          stop.abort();
          expect(mostInAnyMinute(server.arrivals)).toBeLessThanOrEqual(Math.max(1, Math.floor(limit * share)));
          expect(server.refused()).toBe(0);
          expect(server.arrivals.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('across restarts, wherever the wall clock goes meanwhile', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ runMs: fc.integer({ min: 1, max: 70_000 }), pauseMs: fc.nat(20_000), backMs: fc.nat(3_600_000) }),
          { minLength: 2, maxLength: 5 },
        ),
        async (runs) => {
          const clock = virtualClock();
          const server = countingServer(120, 'sliding', true);
          const store = memoryStore(clock);
          for (const { runMs, pauseMs, backMs } of runs) {
            const budget = createBudget({ clock, store });
            const stop = work(budget, clock, server, () => ({ thereMs: 20, backMs: 20 }), 8);
            await clock.advanceTo(clock.monotonic() + runMs);
            stop.abort();
            await clock.advanceTo(clock.monotonic() + pauseMs);
            clock.shiftWall(-backMs);
          }
          expect(mostInAnyMinute(server.arrivals)).toBeLessThanOrEqual(120);
        },
      ),
      { numRuns: 50 },
    );
  });

  test('when the wall clock jumps while it runs', async () => {
    const clock = virtualClock();
    const server = countingServer(120, 'sliding', true);
    const stop = work(createBudget({ clock }), clock, server, () => ({ thereMs: 100, backMs: 100 }), 8);
    for (const jump of [3_600_000, -7_200_000, 86_400_000, -1_000]) {
      await clock.advanceTo(clock.monotonic() + 40_000);
      clock.shiftWall(jump);
    }
    await clock.advanceTo(clock.monotonic() + 40_000);
    stop.abort();
    expect(mostInAnyMinute(server.arrivals)).toBeLessThanOrEqual(120);
    expect(server.arrivals.length).toBeGreaterThan(340);
  });
});

describe('the whole budget is used while there is work', () => {
  test.for(['sliding', 'fixed'] as const)('at a second of latency, %s window', async (window) => {
    const clock = virtualClock();
    const server = countingServer(120, window, true);
    const stop = work(createBudget({ clock }), clock, server, () => ({ thereMs: 500, backMs: 500 }), 8);
    await clock.advanceTo(10 * MINUTE_MS + 5_000);
    stop.abort();
    expect(server.refused()).toBe(0);
    expect(server.arrivals.length / 10).toBeGreaterThanOrEqual(0.95 * 120);
  });

  test('and a share of it beside another user of the key', async () => {
    const clock = virtualClock();
    const server = countingServer(120, 'sliding', true);
    const stop = work(createBudget({ clock, share: 0.5 }), clock, server, () => ({ thereMs: 50, backMs: 50 }), 8);
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
    stop.abort();
    other.abort();
    expect(server.refused()).toBe(0);
    const own = server.arrivals.length - others.length;
    expect(own / 10).toBeGreaterThan(0.9 * 60);
    expect(own / 10).toBeLessThanOrEqual(60);
  });
});

describe("what upstream's headers do", () => {
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

  test('the limit rises and falls with X-RateLimit-Limit', async () => {
    const { budget, signal, take } = await opened(600);
    expect(budget.state()).toMatchObject({ limit: 600, capacity: 594, left: 593 });
    await take(300);
    (await budget.acquire(signal)).answered({ limit: 60, remaining: null });
    expect(budget.state()).toEqual({ limit: 60, capacity: 60, left: 0 });
  });

  test('X-RateLimit-Remaining only tightens', async () => {
    const { budget, signal, take } = await opened(120);
    await take(19);
    (await budget.acquire(signal)).answered({ limit: 120, remaining: 119 });
    expect(budget.state().left).toBe(119 - 21);
    (await budget.acquire(signal)).answered({ limit: 120, remaining: 40 });
    expect(budget.state().left).toBe(39);
    (await budget.acquire(signal)).answered({ limit: 120, remaining: 110 });
    expect(budget.state().left).toBe(38);
  });

  test('a closed gate holds everybody back until it opens, and no longer', async () => {
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

  test('until the first answer has told the limit, requests go one at a time', async () => {
    const clock = virtualClock();
    const budget = createBudget({ clock });
    const { signal } = new AbortController();
    const first = await budget.acquire(signal);
    let sent = 0;
    for (let index = 0; index < 5; index++) void budget.acquire(signal).then(() => sent++);
    await clock.advanceTo(3_000);
    expect(sent).toBe(0);
    first.answered({ limit: 3, remaining: 2 });
    await clock.advanceTo(4_000);
    expect(sent).toBe(2);
  });
});

test('a waiter that is aborted leaves with the reason and lets the others by', async () => {
  const clock = virtualClock();
  const budget = createBudget({ clock });
  budget.closeGate(1_000);
  const stop = new AbortController();
  const aborted = budget.acquire(stop.signal);
  const other = budget.acquire(new AbortController().signal);
  stop.abort(new Error('stopped'));
  await expect(aborted).rejects.toThrow('stopped');
  await clock.advanceTo(1_000);
  expect((await other).waitedMs).toBe(1_000);
});
