import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Catalogue } from '../../src/contract/catalogue.ts';
import { addDays, dayOf } from '../../src/contract/time.ts';
import type { Session } from '../../src/warehouse/database.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { startChild } from '../support/child.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectConsistent, expectEqualToUpstream } from '../support/compare.ts';
import { countOf, sampleOf } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { FETCHED_TWICE } from '../support/warehouse-file.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';
import { keepPages, replayAll } from './kept.ts';

const script = new URL('./kept-child.ts', import.meta.url);
const few = { brands: 1, prompts: 2, days: 2, seed: 41 } as const;
/** Resources that the killed sync reads: one of each form. */
const KEPT_RESOURCES = ['prompts', 'alerts', 'article', 'responses', 'metrics', 'traffic'];
/** Concurrent requests, plus the request for the description, which is not a page. */
const IN_FLIGHT = 8 + 1;

describe('a replay into a new file', () => {
  test('restores every row, including history, after many syncs', async () => {
    const workspace = await openWorkspace({ ...few, brands: 2, prompts: 1 });
    const { folder, sync } = await keepPages(workspace);
    expect(await sync()).toMatchObject({ status: 'complete', failures: [] });
    workspace.sandbox.advance({ days: 1, lateAnswers: 3, editedResponses: 2, deletedResponses: 3, pausedPrompts: 1 });
    // A deleted brand is not on any page: upstream returns 404 for it.
    const [brand] = workspace.sandbox.world.brands.splice(0, 1);
    workspace.sandbox.advance({ deletedPrompts: 1, forumStatusChanges: 3, articleProgress: 3, actionsDone: 2 });
    await sync();
    if (brand !== undefined) workspace.sandbox.world.brands.unshift(brand);
    workspace.sandbox.advance({ days: 1, deletedCompetitors: 1 });
    await sync({ only: ['competitors', 'responses', 'article'] });

    const { warehouse, damages, pages } = await replayAll(workspace, folder);
    expect(damages).toEqual([]);
    expect(pages).toBeGreaterThan(50);
    await expectSameTables(workspace, warehouse);
    // The ledger of pages is the same in the new warehouse.
    const ledger =
      'SELECT file, position, slice, page, sha256, CAST(run_id AS VARCHAR) FROM sync.raw_pages ORDER BY ALL';
    expect(await ask(warehouse, ledger)).toEqual(await ask(workspace.warehouse(), ledger));
    const coverage = 'SELECT slice, CAST(run_id AS VARCHAR), closed_at, rows FROM sync.coverage ORDER BY ALL';
    expect(await ask(warehouse, coverage)).toEqual(await ask(workspace.warehouse(), coverage));
    const days = 'SELECT resource, CAST(brand_id AS VARCHAR), echoed_at, day, zone FROM sync.echoed_days ORDER BY ALL';
    expect(await ask(warehouse, days)).toEqual(await ask(workspace.warehouse(), days));
  });

  test('replays only the selected days and resources', async () => {
    const workspace = await openWorkspace(few);
    const { folder, sync } = await keepPages(workspace);
    const only = ['alerts', 'prompts'];
    await sync({ only });
    workspace.sandbox.advance({ days: 2 });
    await sync({ only });
    const some = await replayAll(workspace, folder, { only: new Set(['alerts']) });
    expect(Object.keys(some.tables)).toEqual(['alerts']);
    const early = await replayAll(workspace, folder, { to: dayOf(NOW_MS) });
    const late = await replayAll(workspace, folder, { from: addDays(dayOf(NOW_MS), 1) });
    const [all] = await workspace.query('SELECT count(*) AS pages FROM sync.raw_pages');
    expect(early.pages).toBeGreaterThan(0);
    expect(late.pages).toBeGreaterThan(0);
    expect(early.pages + late.pages).toBe(Number(all?.['pages']));
    expect(early.skipped).toBe(late.pages);
  });
});

test('a sync that is killed leaves a consistent warehouse and all raw pages, and the next one resumes', async () => {
  const workspace = await openWorkspace({ ...few, responsesPerDay: countOf(120, 6_000), latencyMs: 5 });
  const { sandbox } = workspace;
  const folder = `${await temporaryFolder()}/raw`;
  const start = async () => {
    await workspace.warehouse().close();
    const only = KEPT_RESOURCES.join();
    const child = startChild(script, workspace.path, folder, sandbox.baseUrl, sandbox.key, String(NOW_MS), only);
    expect(await child.message()).toBe('open');
    return child;
  };
  for (const requests of sampleOf([12, 6, 8, 16, 10, 14, 18, 9], 1)) {
    const child = await start();
    const before = sandbox.requests.length;
    while (sandbox.requests.length < before + requests && child.process.exitCode === null) await delay(1);
    await child.kill();
    const sent = sandbox.requests.length - before;
    await workspace.reopen();
    await expectConsistent(workspace);
    const [last] = await workspace.query(
      'SELECT count(*) AS kept FROM sync.requests WHERE run_id = (SELECT arg_max(run_id, rowid) FROM sync.runs)',
    );
    expect(sent - Number(last?.['kept']), 'requests that left nothing').toBeLessThanOrEqual(IN_FLIGHT);
    expect(await workspace.query(FETCHED_TWICE), 'pages kept and asked for again').toEqual([]);
    expect(await workspace.query("SELECT count(*) AS n FROM sync.runs WHERE status = 'running'")).toEqual([{ n: 1n }]);
    // Every committed page is in the raw pages.
    const torn = await replayAll(workspace, folder);
    expect(torn.damages).toEqual([]);
    await expectNoneMissing(workspace, torn.warehouse);
  }
  const last = await start();
  expect(await last.message()).toBe('complete');
  await last.message();
  await workspace.reopen();
  expect(await workspace.query(FETCHED_TWICE), 'pages kept and asked for again').toEqual([]);
  await expectEqualToUpstream(workspace, { only: KEPT_RESOURCES });
  const { warehouse, damages } = await replayAll(workspace, folder);
  expect(damages).toEqual([]);
  await expectSameTables(workspace, warehouse);
});

async function expectSameTables({ catalogue, warehouse }: TestWorkspace, replayed: Warehouse): Promise<void> {
  for (const { name } of tablesOf(catalogue)) {
    const sql = `SELECT count(*) AS rows, CAST(bit_xor(hash(t)) AS VARCHAR) AS hash FROM "${name}" t`;
    const [own, other] = [await ask(warehouse(), sql), await ask(replayed, sql)];
    if (JSON.stringify(own) !== JSON.stringify(other)) {
      const rows = `SELECT * FROM "${name}" ORDER BY ALL LIMIT 2`;
      expect(await ask(replayed, rows), name).toEqual(await ask(warehouse(), rows));
    }
    expect(other, name).toEqual(own);
  }
}

async function expectNoneMissing({ catalogue, warehouse }: TestWorkspace, replayed: Warehouse): Promise<void> {
  for (const { name, key } of tablesOf(catalogue)) {
    const sql = `SELECT ${key.length === 0 ? '1' : key.map((column) => `CAST("${column}" AS VARCHAR)`).join(", '|', ")} FROM "${name}"`;
    const there = new Set((await ask(replayed, sql)).map((row) => JSON.stringify(row)));
    const missing = (await ask(warehouse(), sql)).filter((row) => !there.has(JSON.stringify(row)));
    expect(missing, name).toEqual([]);
  }
}

function tablesOf(catalogue: Catalogue) {
  return [...catalogue.tables, ...catalogue.histories];
}

function ask({ database }: Warehouse, sql: string): Promise<unknown[][]> {
  return database.exclusive((session: Session) => session.query(`SELECT COLUMNS(*)::VARCHAR FROM (${sql})`));
}
