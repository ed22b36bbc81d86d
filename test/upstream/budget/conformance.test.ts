import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import type { CheckContext } from '../../../src/operations/doctor/check-context.ts';
import { checkBudget } from '../../../src/operations/doctor/check-requests.ts';
import type { Window } from '../../../src/sandbox/sandbox-limiter.ts';
import { openBudgetAt } from '../../../src/upstream/budget/open-budget.ts';
import { openSharedBudget } from '../../../src/upstream/budget/postgres-store.ts';
import { ownPostgresFor, postgresFor } from '../../support/test-postgres.ts';
import { hastyClock } from './budget-clock.ts';
import {
  BASE_URL,
  hastyDatabase,
  homeIn,
  makeHasty,
  newKey,
  openIn,
  plainHomeIn,
  signal,
  storages,
} from './budget-homes.ts';
import { countingServer, mostInAnyMinute, type Travel, work } from './simulation.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

describe.each(Object.entries(storages))('a budget in %s', (_, storageOf) => {
  test.for<{ window: Window; share: number; lanes: readonly number[] }>([
    { window: 'sliding', share: 1, lanes: [6, 3, 3] },
    { window: 'fixed', share: 0.5, lanes: [4, 4] },
  ])(
    'keeps every 60 seconds of a $window window to $share of the limit, and gives all the same of it',
    async ({ window, share, lanes }, context) => {
      const { home, clock, pass } = await storageOf(context);
      const open = openIn(home, clock);
      const limit = 40;
      const server = countingServer(limit, window, true);
      const travels: Travel[] = [300, 1_500, 700, 0, 4_000].map((ms) => ({ thereMs: ms, backMs: ms / 3 }));
      let next = 0;
      const travelOf = (): Travel => travels[next++ % travels.length] as Travel;
      const budgets = await Promise.all(lanes.map(() => open({ share })));
      const first = await budgets[0]?.budget.acquire(signal());
      first?.answered(server.arrive(clock.monotonic()).headers);
      const workers = budgets.map(({ budget }, index) => work(budget, clock, server, travelOf, lanes[index] as number));
      const sum = (): number => workers.reduce((all, { answered }) => all + answered.length, 0);
      await pass(2.5 * MINUTE_MS);
      // A busy machine answers less in a minute of the accelerated clock.
      for (let more = 0; clock === hastyClock && more < 20 && sum() <= limit * share; more++) await pass(MINUTE_MS);
      for (const worker of workers) worker.abort();
      expect(server.refused()).toBe(0);
      expect(mostInAnyMinute(server.arrivals)).toBeLessThanOrEqual(limit * share);
      const answered = workers.map((worker) => worker.answered.length);
      const all = sum();
      expect(all).toBeGreaterThan(limit * share);
      for (const count of answered) expect(count).toBeGreaterThan(all / lanes.length / 3);
    },
  );

  test('shares a new limit with all users, and obeys a lower limit at once', async (context) => {
    const { home, clock } = await storageOf(context);
    const open = openIn(home, clock);
    const [one, two] = [await open(), await open()];
    (await one.budget.acquire(signal())).answered({ limit: 600, remaining: null });
    (await two.budget.acquire(signal())).answered({ limit: 600, remaining: null });
    expect(two.budget.state()).toMatchObject({ limit: 600, capacity: 594 });
    (await two.budget.acquire(signal())).answered({ limit: 4, remaining: null });
    (await one.budget.acquire(signal())).answered({ limit: 4, remaining: null });
    expect(one.budget.state()).toEqual({ limit: 4, capacity: 4, left: 0 });
    expect((await open()).budget.state()).toEqual({ limit: 4, capacity: 4, left: 0 });
  });

  test('stops all users after a 429 for the time of Retry-After', async (context) => {
    const { home, clock, pass } = await storageOf(context);
    const open = openIn(home, clock);
    const [one, two] = [await open(), await open()];
    (await one.budget.acquire(signal())).answered({ limit: 120, remaining: null });
    const closedAt = clock.monotonic();
    one.budget.closeGate(25 * SECOND_MS);
    one.budget.closeGate(5 * SECOND_MS);
    await pass(10 * SECOND_MS);
    const opened = [one, two, await open()].map(async ({ budget }) => {
      await budget.acquire(signal());
      return clock.monotonic() - closedAt;
    });
    await pass(30 * SECOND_MS);
    for (const waitedMs of await Promise.all(opened)) expect(waitedMs).toBeGreaterThanOrEqual(25 * SECOND_MS);
  });

  test('uses no slot for an aborted waiter and serves the next one', async (context) => {
    const { home, clock, pass } = await storageOf(context);
    const open = openIn(home, clock);
    const [one, two] = [await open(), await open()];
    for (const { budget } of [one, two]) (await budget.acquire(signal())).answered({ limit: 2, remaining: null });
    const impatient = [one, two, one].map(({ budget }) => {
      const controller = new AbortController();
      return { controller, rejected: expect(budget.acquire(controller.signal)).rejects.toThrow('enough') };
    });
    const patient = two.budget.acquire(signal()).then((slot) => slot.answered({ limit: 2, remaining: null }));
    await pass(2 * SECOND_MS);
    for (const { controller } of impatient) controller.abort(new Error('enough'));
    await Promise.all(impatient.map(({ rejected }) => rejected));
    const aborted = expect(two.budget.acquire(AbortSignal.abort(new Error('never')))).rejects.toThrow('never');
    await whilePassing(Promise.all([patient, aborted]), pass);
    await pass(62 * SECOND_MS);
    // A claim that was not withdrawn would hold its slot for three minutes.
    expect((await open()).budget.state()).toEqual({ limit: 2, capacity: 2, left: 2 });
  });

  test('counts the requests of another user of the key once, and reports the requests left', async (context) => {
    const { home, clock, pass } = await storageOf(context);
    const open = openIn(home, clock);
    const [one, two] = [await open(), await open()];
    for (const { budget } of [one, two]) (await budget.acquire(signal())).answered({ limit: 120, remaining: null });
    const slots = [await one.budget.acquire(signal()), await two.budget.acquire(signal())];
    for (const slot of slots) slot.answered({ limit: 120, remaining: 78 });
    await pass(4 * SECOND_MS);
    expect((await open()).budget.state()).toEqual({ limit: 120, capacity: 119, left: 77 });
  });

  test('is not affected by setting the clock or by clocks of other machines', async (context) => {
    const { home, clock, pass, setAhead } = await storageOf(context);
    const open = openIn(home, clock);
    const server = countingServer(40, 'sliding', true);
    let aheadMs = 0;
    const ahead = (ms: number): Clock => ({
      ...clock,
      now: () => clock.now() + ms + aheadMs,
      // Monotonic clocks of machines have different origins; processes of one machine share the origin.
      monotonic: () => clock.monotonic() + (home.kind === 'postgres' ? ms : 0),
    });
    const clocks = [ahead(0), ahead(3_600_000), ahead(-3_600_000)];
    const budgets = await Promise.all(clocks.map((each) => open({ clock: each })));
    const first = await budgets[0]?.budget.acquire(signal());
    first?.answered(server.arrive(clock.monotonic()).headers);
    const workers = budgets.map(({ budget }) => work(budget, clock, server, () => ({ thereMs: 400, backMs: 400 }), 3));
    let lastSetAt = 0;
    for (const seconds of [3_600, -7_200, -50]) {
      lastSetAt = clock.monotonic();
      await pass(45 * SECOND_MS);
      aheadMs += seconds * SECOND_MS;
      await setAhead(seconds);
    }
    await pass(45 * SECOND_MS);
    for (const worker of workers) worker.abort();
    expect(server.refused()).toBe(0);
    expect(mostInAnyMinute(server.arrivals)).toBeLessThanOrEqual(40);
    // Requests continue after the clock was set back a second time.
    expect(server.arrivals.filter((at) => at > lastSetAt).length).toBeGreaterThan(15);
  });
});

describe('a budget in PostgreSQL', () => {
  test('has one order of records for all readers when many processes add concurrently', async (context) => {
    const address = homeIn(await hastyDatabase(context));
    const options = { ...address, key: newKey(), baseUrl: BASE_URL, clock: hastyClock };
    const workers = await Promise.all([1, 2, 3, 4].map(() => openSharedBudget(options)));
    const each = 40;
    const seen = workers.map((): string[] => []);
    const readOn = (): void => {
      for (const [index, { log }] of workers.entries()) seen[index]?.push(...log.read().map(({ id }) => id));
    };
    const adding = workers.map(async ({ log }, index) => {
      for (let count = 0; count < each; count++) {
        const id = `${index}-${count}`;
        await log.append({ kind: 'claim', id, value: 0, monotonicMs: 0, wallMs: 0 });
        readOn();
        // After adding a record, a process has read it and all earlier ones.
        expect(seen[index]).toContain(id);
      }
    });
    await Promise.all(adding);
    for (const { log } of workers) await log.refresh?.();
    readOn();
    for (const ids of seen) expect(ids).toEqual(seen[0]);
    expect(new Set(seen[0]).size).toBe(4 * each);
    for (const { close } of workers) await close();
  });

  test('deletes old records and keeps the limit', async (context) => {
    const database = await hastyDatabase(context);
    const home = homeIn(database);
    let aheadMs = 0;
    const clock = { ...hastyClock, monotonic: () => hastyClock.monotonic() + aheadMs };
    const open = openIn(home);
    const { budget } = await open({ clock });
    for (let count = 0; count < 40; count++) {
      (await budget.acquire(signal())).answered({ limit: 6_000, remaining: null });
    }
    await database.run('UPDATE hasty.ahead SET seconds = seconds + 1200');
    aheadMs = 20 * MINUTE_MS;
    for (let count = 0; count < 3; count++)
      (await budget.acquire(signal())).answered({ limit: 6_000, remaining: null });
    const { rows } = await database.run(
      `SELECT count(*) FILTER (WHERE at < floor(extract(epoch FROM hasty.clock_timestamp()) * 1000) - ${12 * MINUTE_MS}) AS old
       FROM hasty.sightline_budget_log WHERE budget = (SELECT budget FROM hasty.sightline_budget_log ORDER BY seq DESC LIMIT 1)`,
    );
    expect(rows).toEqual([{ old: '1' }]);
    expect((await open({ clock })).budget.state()).toMatchObject({ limit: 6_000 });
  });

  test('ignores implausible records, and doctor --fix deletes them', async (context) => {
    const database = await hastyDatabase(context);
    const open = openIn(homeIn(database));
    const { budget } = await open();
    (await budget.acquire(signal())).answered({ limit: 240, remaining: null });
    await expect.poll(async () => (await open()).budget.state().limit).toBe(240);
    const log = 'hasty.sightline_budget_log';
    await database.run(
      `INSERT INTO ${log} (budget, kind, id, value, at)
       SELECT budget, poison.kind, '-', poison.value, at
       FROM (SELECT * FROM ${log} ORDER BY seq DESC LIMIT 1) AS last,
         (VALUES ('limit', 999999999), ('others', 999999998), ('gate', 31536000000)) AS poison (kind, value)`,
    );
    const { budget: later } = await open();
    expect(later.state()).toMatchObject({ limit: 240, capacity: 238 });
    await later.acquire(signal());
    const check = (fix: boolean) => {
      const config = { budget: () => homeIn(database) };
      return checkBudget({ context: { config, clock: systemClock }, fix } as unknown as CheckContext);
    };
    expect((await check(false))[1]?.message).toContain('3 implausible records');
    expect((await check(true))[1]).toMatchObject({ status: 'ok', fixed: true });
    expect(await check(false)).toHaveLength(1);
  });

  test('is checked by doctor with a single attempt, which returns version or error', async (context) => {
    const url = (await postgresFor(context)).url();
    const look = (address: string) => {
      const budget = () => ({ kind: 'postgres', url: address, urlVariable: 'BUDGET_DATABASE_URL' });
      return checkBudget({ context: { config: { budget }, clock: systemClock } } as unknown as CheckContext);
    };
    expect(await look(url)).toEqual([
      { status: 'ok', message: expect.stringMatching(/^PostgreSQL \d+\..* of BUDGET_DATABASE_URL answers in \d+ ms$/) },
    ]);
    const nowhere = new URL(url);
    nowhere.port = '1';
    const [finding] = await look(nowhere.href);
    expect(finding).toMatchObject({ status: 'failure', message: expect.stringContaining('ECONNREFUSED') });
  });

  test('contains only a hash of the key', async (context) => {
    const database = await hastyDatabase(context);
    const key = newKey();
    const home = homeIn(database);
    const { budget, close } = await openBudgetAt(home, { key, share: 1, clock: hastyClock });
    (await budget.acquire(signal())).answered({ limit: 120, remaining: 119 });
    budget.closeGate(1);
    await close();
    const { rows } = await database.run(
      'SELECT log::text AS row FROM hasty.sightline_budget_log AS log UNION ALL SELECT pace::text FROM hasty.sightline_budget_pace AS pace',
    );
    expect(rows.length).toBeGreaterThan(3);
    expect(JSON.stringify(rows)).not.toMatch(/gsk_|nobody|example/);
  });

  test('stops all requests while the database is down, resumes afterwards, and keeps the current minute', async (context) => {
    const database = await makeHasty(await ownPostgresFor(context));
    const said: string[] = [];
    const limit = 40;
    const home = homeIn(database);
    const options = {
      key: newKey(),
      baseUrl: BASE_URL,
      share: 1,
      clock: hastyClock,
      say: (text: string) => void said.push(text),
    };
    const budgets = await Promise.all([1, 2].map(() => openBudgetAt(home, options)));
    const server = countingServer(limit, 'sliding', true);
    const first = await budgets[0]?.budget.acquire(signal());
    first?.answered(server.arrive(hastyClock.monotonic()).headers);
    const workers = budgets.map(({ budget }) =>
      work(budget, hastyClock, server, () => ({ thereMs: 200, backMs: 200 }), 4),
    );
    await hastyClock.sleep(30 * SECOND_MS);
    await database.stop();
    // Requests that already had permission arrive within about a second.
    await hastyClock.sleep(5 * SECOND_MS);
    const before = server.arrivals.length;
    await hastyClock.sleep(20 * SECOND_MS);
    expect(server.arrivals.length).toBe(before);
    await database.start();
    await expect.poll(() => server.arrivals.length, { timeout: 30_000 }).toBeGreaterThan(before + limit);
    for (const worker of workers) worker.abort();
    for (const { close } of budgets) await close();
    expect(server.refused()).toBe(0);
    expect(mostInAnyMinute(server.arrivals)).toBeLessThanOrEqual(limit);
    expect(said).toEqual([
      expect.stringMatching(
        /^The shared budget's database \(BUDGET_DATABASE_URL\) .*; no requests are sent to upstream until it responds\.$/,
      ),
      "The shared budget's database (BUDGET_DATABASE_URL) responds again.",
    ]);
    expect(said.join()).not.toMatch(/p@ss|p%40ss|tester/);
  });

  test('works with a role that cannot create tables, and fails if the database stays down', async (context) => {
    const database = await ownPostgresFor(context);
    const shared = { key: newKey(), baseUrl: BASE_URL, share: 1 };
    const owner = await openBudgetAt(plainHomeIn(database), { ...shared, clock: systemClock });
    await owner.close();
    await database.run(`
      CREATE ROLE worker LOGIN PASSWORD 'modest';
      GRANT SELECT, INSERT, UPDATE, DELETE ON public.sightline_budget_log, public.sightline_budget_pace TO worker`);
    const url = Object.assign(new URL(database.url()), { username: 'worker', password: 'modest' }).href;
    const { budget, close } = await openBudgetAt({ ...plainHomeIn(database), url }, { ...shared, clock: hastyClock });
    (await budget.acquire(signal())).answered({ limit: 120, remaining: null });
    await database.stop();
    await expect(budget.acquire(signal())).rejects.toMatchObject({ code: 'budget_unreachable' });
    await close();
  });

  test('fails with an error that names the variable and does not show the URL', async (context) => {
    const database = await postgresFor(context);
    const failure = async (change: (url: URL) => void) => {
      const url = new URL(database.url());
      change(url);
      const options = { key: newKey(), baseUrl: BASE_URL, share: 1, clock: hastyClock };
      const error = await openBudgetAt({ ...plainHomeIn(database), url: url.href }, options).then(
        () => null,
        (thrown: Error) => thrown,
      );
      expect(error).toMatchObject({
        code: 'budget_unreachable',
        message: expect.stringContaining('BUDGET_DATABASE_URL'),
      });
      expect(String(error?.stack)).not.toMatch(/p@ss|p%40ss|wrong-one/);
      return error?.message;
    };
    expect(await failure((url) => Object.assign(url, { password: 'wrong-one' }))).toMatch('refuses (password');
    expect(await failure((url) => Object.assign(url, { pathname: '/nothing' }))).toMatch('"nothing" does not exist');
    // Retries last three minutes of the hasty clock.
    expect(await failure((url) => Object.assign(url, { port: '1' }))).toMatch('does not answer (ECONNREFUSED)');
  });
});

// Advances the time until work that also waits for files or a database has ended.
async function whilePassing<T>(work: Promise<T>, pass: (ms: number) => Promise<unknown>): Promise<T> {
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  work.then(end, end);
  for (let seconds = 0; !isOver && seconds < 3_600; seconds += 1) await pass(SECOND_MS);
  return work;
}
