import { describe, expect, test } from 'vitest';
import type { Window } from '../../../src/sandbox/sandbox-limiter.ts';
import { createBudget } from '../../../src/upstream/budget/budget.ts';
import { type VirtualClock, virtualClock } from '../../support/clocks.ts';
import { countOf, sampleOf } from '../../support/counts.ts';
import { countingServer, MINUTE_MS, sharedLog, type Travel, work } from './simulation.ts';

const LIMIT = 120;

interface Course {
  readonly latencyMs: number;
  /** Fraction of the latency after which upstream counts the request. */
  readonly countedAfter: number;
  readonly window: Window;
  readonly processes: number;
  readonly lanes: number;
  readonly minutes: number;
}

async function run(course: Course, clock: VirtualClock = virtualClock()) {
  const { latencyMs, countedAfter, window, processes, lanes, minutes } = course;
  const server = countingServer(LIMIT, window, true);
  const shared = sharedLog();
  const travelOf = (): Travel => ({ thereMs: latencyMs * countedAfter, backMs: latencyMs * (1 - countedAfter) });
  // Start in the middle of a minute.
  await clock.advanceTo(17_123);
  const requests = Math.ceil((LIMIT * minutes) / processes);
  const workers = Array.from({ length: processes }, () =>
    work(createBudget({ clock, log: shared.open() }), clock, server, travelOf, lanes, requests),
  );
  await clock.advanceTo(17_123 + (1.5 * minutes + 2) * MINUTE_MS);
  const answered = workers.flatMap((worker) => worker.answered);
  const tookMs = Math.max(...answered) - 17_123;
  return { server, shared, requests: requests * processes, answered: answered.length, tookMs };
}

describe('40 slices in flight need at most 1.03 x requests / 120 minutes after the first minute', () => {
  const courses = [50, 1_000, 3_000].flatMap((latencyMs) =>
    [0, 1].flatMap((countedAfter) =>
      (['sliding', 'fixed'] as const).flatMap((window) => [
        { latencyMs, countedAfter, window, processes: 1, lanes: 40 },
        { latencyMs, countedAfter, window, processes: 2, lanes: 20 },
      ]),
    ),
  );

  test.for(sampleOf(courses, 4))(
    'with $latencyMs ms latency, counted after $countedAfter of it, $window window, $processes processes',
    async (course) => {
      for (const minutes of [5, 12].slice(0, countOf(1, 2))) {
        const { server, requests, answered, tookMs } = await run({ ...course, minutes });
        expect(answered).toBe(requests);
        expect(tookMs).toBeLessThanOrEqual((1.03 * requests * MINUTE_MS) / LIMIT + MINUTE_MS);
        expect(server.refused()).toBe(0);
        // Also in a long run, in which the first minute has little weight.
        const inLastMinutes = server.arrivals.filter((at) => at > 2 * MINUTE_MS && at <= 4 * MINUTE_MS).length;
        expect(inLastMinutes / 2).toBeGreaterThanOrEqual(LIMIT / 1.03);
      }
    },
  );

  test('the default of eight slices uses the full budget at 3 seconds of latency', async () => {
    const course = { latencyMs: 3_000, countedAfter: 1, window: 'sliding', processes: 1 } as const;
    const { requests, tookMs } = await run({ ...course, lanes: 8, minutes: 10 });
    expect(tookMs).toBeLessThanOrEqual((1.03 * requests * MINUTE_MS) / LIMIT + MINUTE_MS);
  });
});

describe('the shortest latency shortens holds', () => {
  // Sends one request that takes `latencyMs`.
  const session = (clock: VirtualClock) => {
    const shared = sharedLog();
    const budget = createBudget({ clock, log: shared.open() });
    const { signal } = new AbortController();
    const send = async (latencyMs: number): Promise<void> => {
      const slot = await budget.acquire(signal);
      await clock.advanceTo(clock.monotonic() + latencyMs);
      slot.answered({ limit: 120, remaining: null });
    };
    const leftAfter = async (ms: number): Promise<number> => {
      await clock.advanceTo(ms);
      return budget.state().left;
    };
    return { budget, shared, send, leftAfter };
  };

  test('not before the tenth answer, then by four fifths of the shortest', async () => {
    const { send, leftAfter } = session(virtualClock());
    for (let index = 0; index < 9; index++) await send(1_000);
    expect(await leftAfter(9_000)).toBe(110);
    expect(await leftAfter(61_005)).toBe(110);
    expect(await leftAfter(61_020)).toBe(111);
    await send(2_000);
    // After ten answers: a request answered at 2,000 is held for 60,010 ms less 800 ms.
    expect(await leftAfter(63_100)).toBe(119 - 7 + 1 - 1);
  });

  test('by less at once after one fast answer of any process', async () => {
    const clock = virtualClock();
    const { budget, shared, send, leftAfter } = session(clock);
    for (let index = 0; index < 20; index++) await send(1_000);
    expect(await leftAfter(60_200)).toBe(119 - 20);
    expect(await leftAfter(60_220)).toBe(119 - 19);
    const slot = await createBudget({ clock, log: shared.open() }).acquire(new AbortController().signal);
    slot.answered({ limit: 120, remaining: null });
    expect(budget.state().left).toBe(119 - 21);
    expect(await leftAfter(61_020)).toBe(119 - 20);
  });

  test('not at all for ten minutes after a 429', async () => {
    const clock = virtualClock();
    const { budget, send, leftAfter } = session(clock);
    budget.closeGate(1);
    await clock.advanceTo(10);
    for (let index = 0; index < 20; index++) await send(1_000);
    expect(await leftAfter(61_000)).toBe(119 - 20);
    expect(await leftAfter(61_030)).toBe(119 - 19);
    await clock.advanceTo(10 * MINUTE_MS);
    await send(1_000);
    expect(await leftAfter(11 * MINUTE_MS + 205)).toBe(118);
    expect(await leftAfter(11 * MINUTE_MS + 225)).toBe(119);
  });
});
