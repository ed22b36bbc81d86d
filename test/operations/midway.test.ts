import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSandboxWorkspace } from '../../schemas/fixtures/start.ts';
import { addDays } from '../../src/contract/time.ts';
import { exportWorkspace } from '../../src/operations/export.ts';
import { exportFiles } from '../../src/operations/export/export-files.ts';
import { createMidwayPublisher } from '../../src/operations/publish-midway.ts';
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import { runSync } from '../../src/sync/run-sync.ts';
import type { SyncStats } from '../../src/sync/sync-stats.ts';
import { createBudget } from '../../src/upstream/budget/budget.ts';
import { createClient } from '../../src/upstream/client.ts';
import { copyDatabase } from '../../src/warehouse/file/copy-database.ts';
import { readTotals, totalsResources } from '../../src/warehouse/ledger/reported-totals.ts';
import { readUnfinishedWindows } from '../../src/warehouse/ledger/unfinished-windows.ts';
import { openReplica, publishAnalytics } from '../../src/warehouse/replica.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';
import { publishMidway } from '../../src/workspace/workspace.ts';
import { idleClock, NOW_MS, virtualClock } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';
import { openWorkspace } from '../support/workspace.ts';
import { contextIn } from './world-context.ts';

/** Responses by brand and day of a published replica. */
type Days = ReadonlyMap<string, number>;

async function daysOf(path: string): Promise<Days> {
  const replica = await openReplica(path);
  const rows = await replica.work((query) =>
    query(`SELECT CAST(brand_id AS VARCHAR) || ' ' || strftime(created_at, '%Y-%m-%d'), CAST(count(*) AS INTEGER)
      FROM responses WHERE _deleted_at IS NULL GROUP BY 1`),
  );
  await replica.close();
  return new Map(rows.map(([day, n]) => [String(day), Number(n)]));
}

function publishTo(path: string, { database }: Warehouse): Promise<boolean> {
  return publishAnalytics(database, path, {
    find: async (query) => (await readUnfinishedWindows(query, catalogue)).hidden,
  });
}

test('the first sync of 2 brands and 60 days with visits takes at most 300 requests and makes responses readable within 60 seconds', async () => {
  const clock = idleClock(NOW_MS);
  onTestFinished(clock.close);
  const sandbox = await startSandboxWorkspace({
    ...{ brands: 2, prompts: 5, days: 60, rateLimit: 120, choices: { connected: 'all' } },
    clock: clock.now,
    limiterClock: clock.monotonic,
  });
  onTestFinished(() => sandbox.close());
  const folder = await temporaryFolder();
  const warehouse = await openWarehouse(join(folder, 'warehouse.duckdb'), catalogue, {});
  onTestFinished(() => warehouse.close());
  const path = layoutOf(folder).analytics;
  const copy = { isCurrent: false, lost: new AbortController().signal };
  const budget = createBudget({ clock });
  const { signal } = new AbortController();
  const client = createClient({ ...sandbox, keyHeader: 'authorization', budget, clock, connections: 8 });
  const published: { readonly atMs: number; readonly days: Days }[] = [];
  const midway = createMidwayPublisher({
    clock,
    publish: () =>
      clock.whileBusy(async () => {
        const isPublished = await publishMidway(warehouse, layoutOf(folder), copy);
        if (isPublished) published.push({ atMs: clock.monotonic(), days: await daysOf(path) });
        return isPublished;
      }),
  });
  const summary = await runSync(
    {
      ...{ catalogue, warehouse, client, clock, connections: 8, signal },
      onProgress: () => {
        clock.active();
        midway.onProgress();
      },
      onMilestone: midway.milestone,
    },
    { only: null, range: null, brands: null },
  );
  await midway.close();
  await client.close();
  expect(summary).toMatchObject({ status: 'complete', failures: [] });
  expect(summary.requests).toBeLessThanOrEqual(300);

  await publishTo(path, warehouse);
  const final = await daysOf(path);
  const [first] = published.filter(({ days }) => days.size > 0);
  expect(first?.atMs).toBeLessThanOrEqual(60_000);
  const total = (days: Days): number => [...days.values()].reduce((sum, n) => sum + n, 0);
  const early = published.filter(({ atMs }) => atMs <= 60_000).map(({ days }) => total(days));
  expect(Math.max(...early)).toBeGreaterThan(0.9 * total(final));
  // Every day of every replica is as complete as at the end.
  for (const { days } of published) for (const [day, n] of days) expect(n, day).toBe(final.get(day));

  // Site sessions of the last 30 days are known day by day.
  const [resource] = totalsResources(catalogue);
  if (resource === undefined) throw new Error('no report has totals');
  const totals = await warehouse.database.exclusive(({ query }) => readTotals(query, resource));
  expect(totals.size).toBe(2);
  const today = new Date(NOW_MS).toISOString().slice(0, 10);
  for (const [brand, { resolved }] of totals) {
    for (let age = 0; age < 30; age++) expect(resolved.day(addDays(today, -age)), `${brand} ${age}`).toBeDefined();
  }
});

// Exports of a folder with a copy of the warehouse, as a kill leaves it, and with an earlier replica or none.
async function expectExports({ database }: Warehouse, replica: string | null, days: Days): Promise<void> {
  const folder = await temporaryFolder();
  const context = contextIn(folder);
  const layout = layoutOf(context.config.folder);
  await mkdir(context.config.folder, { recursive: true });
  if (replica !== null) await copyFile(replica, layout.analytics);
  await database.exclusive((session) => copyDatabase(session, layout.warehouse, { forReaders: false }));
  const tables = ['responses', 'response_citations', 'mart.fct_response'];
  const all = { tables, from: null, to: null, brands: null, format: 'ndjson', compression: 'snappy' } as const;
  await exportFiles(context, { ...all, output: join(folder, 'files') }, () => undefined);
  const found = tables.flatMap(
    (name) =>
      readFileSync(join(folder, 'files', `${name}.ndjson`), 'utf8')
        .match(/"created_at":"[^T"]+/g)
        ?.map((at) => at.slice(-10)) ?? [],
  );
  expect([...new Set(found)].sort()).toEqual([...days.keys()].map((day) => day.slice(-10)).sort());
  const { tables: exported } = await exportWorkspace(context, () => undefined);
  const stored = exported.find(({ name }) => name === 'responses')?.rows;
  expect(stored).toBe([...days.values()].reduce((sum, n) => sum + n, 0));
}

test('a replica of an unfinished sync has no day of which only some pages are stored, like exports after a kill, and keeps earlier days', async () => {
  const { sync, warehouse, sandbox } = await openWorkspace({ brands: 1, days: 4, responsesPerDay: 300 });
  const path = join(await temporaryFolder(), 'analytics.duckdb');
  // Ends in the middle of a window, whose pages are in the warehouse.
  const open = async () => warehouse().database.exclusive(({ query }) => readUnfinishedWindows(query, catalogue));
  for (let maxRequests = 8; (await open()).hidden.length === 0; maxRequests += 1) {
    expect(maxRequests).toBeLessThan(20);
    await sync({ only: ['responses'], allowance: { maxRequests, deadline: null }, connections: 1 });
  }
  await publishTo(path, warehouse());
  const early = await daysOf(path);
  const [row] = await warehouse().database.exclusive((session) =>
    session.query("SELECT CAST(count(DISTINCT strftime(created_at, '%Y-%m-%d')) AS INTEGER) FROM responses"),
  );
  expect(Number(row?.[0])).toBeGreaterThan(early.size);
  for (const replica of [path, null]) await expectExports(warehouse(), replica, early);
  expect((await sync({ only: ['responses'] })).status).toBe('complete');
  await publishTo(path, warehouse());
  const final = await daysOf(path);
  expect(final.size).toBeGreaterThan(early.size);
  for (const [day, n] of early) expect(n).toBe(final.get(day));
  expect(await open()).toEqual({ hidden: [], isMixed: false });
  expect(sandbox.world.now()).toBe(NOW_MS);
});

test('days that an unfinished sync was reading again delay its own replicas, but not those of another sync', async () => {
  const { sync, warehouse, clock } = await openWorkspace({ brands: 1, days: 2, responsesPerDay: 250 });
  const layout = layoutOf(await temporaryFolder());
  const copy = { isCurrent: false, lost: new AbortController().signal };
  const publish = (): Promise<boolean> => publishMidway(warehouse(), layout, copy);
  expect((await sync({ only: ['responses'] })).status).toBe('complete');
  const stop = new AbortController();
  const onProgress = ({ resources }: SyncStats): void => {
    if ((resources.get('responses')?.done ?? 0) > 1) stop.abort(new Error('Ctrl-C'));
  };
  await sync({ only: ['responses'], full: true, connections: 1, signal: stop.signal, onProgress });
  const query = (sql: string) => warehouse().database.exclusive((session) => session.query(sql));
  expect(await query('SELECT DISTINCT slice FROM sync.checkpoints')).toHaveLength(1);
  const [[options] = []] = await query('SELECT options FROM sync.runs ORDER BY started_at DESC, rowid DESC LIMIT 1');

  const begin = (of: string) => warehouse().beginRun({ runId: randomUUID(), options: of, now: clock.now() });
  expect(await begin('other options')).toMatchObject({ continues: false });
  expect(await publish()).toBe(true);
  expect(await begin(String(options))).toMatchObject({ continues: true });
  expect(await publish()).toBe(false);
});

describe('replicas of a running sync', () => {
  function midwayAt() {
    const clock = virtualClock();
    const published: number[] = [];
    const state = { isConsistent: true };
    const midway = createMidwayPublisher({
      clock,
      publish: async () => {
        if (state.isConsistent) published.push(clock.monotonic());
        return state.isConsistent;
      },
    });
    return { clock, published, state, midway };
  }

  test('are published after 20 seconds and then every 3 minutes, if there are new pages', async () => {
    const { clock, published, midway } = midwayAt();
    for (let at = 1_000; at <= 900_000; at += 1_000) {
      if (at < 400_000) midway.onProgress();
      await clock.advanceTo(at);
    }
    await midway.close();
    expect(published).toEqual([20_000, 200_000, 380_000, 560_000]);
  });

  test('are published at once when a part is complete', async () => {
    const { clock, published, midway } = midwayAt();
    midway.onProgress();
    await clock.advanceTo(12_000);
    midway.milestone();
    await clock.advanceTo(13_000);
    await midway.close();
    expect(published).toEqual([12_000]);
  });

  test('are published 10 seconds after the start if a part is complete earlier, and never by a shorter sync', async () => {
    const { clock, published, midway } = midwayAt();
    const short = midwayAt();
    for (const { milestone, onProgress } of [midway, short.midway]) {
      onProgress();
      milestone();
    }
    await short.clock.advanceTo(9_999);
    await short.midway.close();
    await short.clock.advanceTo(30_000);
    expect(short.published).toEqual([]);
    await clock.advanceTo(9_999);
    expect(published).toEqual([]);
    await clock.advanceTo(30_000);
    await midway.close();
    expect(published).toEqual([10_000]);
  });

  test('wait while days are read again', async () => {
    const { clock, published, state, midway } = midwayAt();
    state.isConsistent = false;
    await clock.advanceTo(11_000);
    midway.onProgress();
    midway.milestone();
    await clock.advanceTo(12_000);
    expect(published).toEqual([]);
    state.isConsistent = true;
    midway.onProgress();
    await clock.advanceTo(13_000);
    await midway.close();
    expect(published).toEqual([12_000]);
  });

  test('do not fail the sync if they cannot be written', async () => {
    const clock = virtualClock();
    let attempts = 0;
    const midway = createMidwayPublisher({
      clock,
      publish: async () => {
        attempts += 1;
        throw new Error('the disk is full');
      },
    });
    midway.onProgress();
    midway.milestone();
    await clock.advanceTo(10_000);
    await expect(midway.close()).resolves.toBeUndefined();
    expect(attempts).toBe(1);
  });
});
