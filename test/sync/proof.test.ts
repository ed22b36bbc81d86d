import { expect, test } from 'vitest';
import { RETRIES_MAX } from '../../src/contract/plausibility/completeness.ts';
import { readUnconfirmedDeletions } from '../../src/warehouse/ledger/unconfirmed-deletions.ts';
import { readStatus } from '../../src/warehouse/ledger/warehouse-status.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { countOf } from '../support/counts.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';
import { alteredBody, alteredRows, type BodyEdit, bodyOf } from './altered.ts';
import { keepPages, replayAll } from './kept.ts';

const HOUR_MS = 3_600_000;
const few = { brands: 1, prompts: 2, days: 4 } as const;
const only = ['responses'];
const complete = { status: 'complete', failures: [], warnings: [] } as const;

/** Upstream counts one response more on days of an engine. */
const oneMore =
  (isOff: (row: { date: string; engine: string }) => boolean): BodyEdit =>
  (body) => {
    for (const row of body.data) if (isOff(row)) row.responses += 1;
    return body;
  };

const statusOf = ({ warehouse, catalogue }: TestWorkspace) =>
  warehouse().database.exclusive(({ query }) => readStatus(query, catalogue, NOW_MS));
/** Writes that the differing days were tried so often, and that no retry is due today. */
const setTries = ({ query }: TestWorkspace, tries: number) =>
  query(`UPDATE sync.audits SET tries = ${tries}, retry_at = TIMESTAMP '2026-03-16' WHERE NOT agreed`);
const heldIn = ({ warehouse }: Pick<TestWorkspace, 'warehouse'>) =>
  warehouse().database.exclusive(({ query }) => readUnconfirmedDeletions(query));

test('a day that differs is retried in two runs, then after hours, then reported as permanent', async () => {
  const counts = alteredBody(
    'metrics_daily',
    oneMore(({ date }) => date === '2026-03-11'),
  );
  const workspace = await openWorkspace({ ...few, days: 6, fixtures: counts.fixtures });
  const sync = () => workspace.sync({ only });
  const readsOf = async (): Promise<number> => {
    const [row] = await workspace.query(
      `SELECT count(*) AS n FROM sync.requests WHERE resource = 'responses' AND run_id = (SELECT arg_max(run_id, rowid) FROM sync.runs)`,
    );
    return Number(row?.['n']);
  };
  const first = await sync();
  expect(first.status).toBe('partial');
  expect(first.failures).toMatchObject([
    { code: 'counts_differ', message: expect.stringContaining('retried in the next sync') },
  ]);
  const { differing } = await statusOf(workspace);
  expect(differing).toMatchObject([{ resource: 'responses', tries: 1, isPermanent: false, nextRetryAt: null }]);
  expect(differing[0]?.counted).toBeGreaterThan(differing[0]?.stored ?? 0);
  await sync();
  const third = await sync();
  expect(third.failures).toMatchObject([
    { code: 'counts_differ', message: expect.stringContaining('in the first sync after') },
  ]);
  const retrying = await readsOf();
  // The next retry is not due: the day is not read, but the run is still partial.
  const waiting = await sync();
  expect(waiting.status).toBe('partial');
  expect(await readsOf()).toBeLessThan(retrying);
  expect((await statusOf(workspace)).differing).toMatchObject([
    { tries: RETRIES_MAX - 1, nextRetryAt: expect.any(String) },
  ]);
  workspace.sandbox.advance({ days: 0.3 });
  const last = await sync();
  expect(last).toMatchObject({ status: 'complete', failures: [] });
  expect(last.warnings).toContainEqual(expect.objectContaining({ code: 'counts_differ' }));
  expect((await statusOf(workspace)).differing).toMatchObject([{ tries: RETRIES_MAX, isPermanent: true }]);
  // The stored rows equal upstream's list all the time.
  counts.alter(null);
  expect(await sync()).toMatchObject({ status: 'complete', failures: [] });
  expect((await statusOf(workspace)).differing).toEqual([]);
  await expectEqualToUpstream(workspace, { only });
});

test('day counts that lag behind the list by hours make no nightly run partial', async () => {
  const counts = alteredBody('metrics_daily', (_body, question) =>
    bodyOf('metrics_daily', { ...question, nowMs: question.nowMs - 6 * HOUR_MS }),
  );
  const night = Date.parse('2026-03-15T02:15:00Z');
  const workspace = await openWorkspace({ ...few, clock: () => night, fixtures: counts.fixtures });
  for (let run = 1; run <= countOf(2, 4); run++) {
    expect(await workspace.sync({ only }), `run ${run}`).toMatchObject(complete);
    const [yesterday] = await workspace.query(
      "SELECT upstream, stored FROM sync.audits WHERE resource = 'responses' AND NOT agreed ORDER BY day DESC LIMIT 1",
    );
    expect(Number(yesterday?.['stored'])).toBeGreaterThan(Number(yesterday?.['upstream']));
    workspace.sandbox.advance({ days: 1 });
  }
});

test('an engine that upstream lists and never counts makes no run partial; an engine no longer counted does', async () => {
  const withoutPerplexity: BodyEdit = (body) => ({
    ...body,
    data: body.data.filter((row: { engine: string }) => row.engine !== 'perplexity'),
  });
  const counts = alteredBody('metrics_daily', withoutPerplexity);
  const workspace = await openWorkspace({ ...few, fixtures: counts.fixtures });
  const sync = () => workspace.sync({ only });
  for (let run = 1; run <= countOf(2, 3); run++) {
    expect(await sync(), `run ${run}`).toMatchObject(complete);
    workspace.sandbox.advance({ days: 1, lateAnswers: 4 });
  }
  counts.alter(null);
  expect(await sync()).toMatchObject(complete);
  await expectEqualToUpstream(workspace, { only });
  counts.alter(withoutPerplexity);
  expect((await sync()).failures).toMatchObject([{ code: 'counts_differ' }]);
});

test('a difference like those that upstream has had on many days makes no later run partial; a larger one does', async () => {
  const counts = alteredBody(
    'metrics_daily',
    oneMore(({ date, engine }) => engine === 'chatgpt' && Number(date.slice(-2)) % 2 === 0),
  );
  const list = alteredRows('responses');
  const workspace = await openWorkspace({
    ...few,
    days: 10,
    fixtures: { ...counts.fixtures, ...list.fixtures },
  });
  const { sandbox } = workspace;
  const sync = () => workspace.sync({ only });
  expect((await sync()).status).toBe('partial');
  await setTries(workspace, RETRIES_MAX);
  for (let night = 1; night <= countOf(1, 3); night++) {
    sandbox.advance({ days: 1 });
    const { status, failures, warnings } = await sync();
    expect({ status, failures }, `night ${night}`).toEqual({ status: 'complete', failures: [] });
    expect(new Set(warnings.map(({ code }) => code))).toEqual(new Set(['counts_differ']));
  }
  sandbox.advance({ days: 1 });
  list.alter((rows) => [...rows].filter((_row, index) => index % 2 === 0));
  expect((await sync()).failures).toMatchObject([{ code: 'counts_differ' }]);
  list.alter(null);
  counts.alter(null);
  expect(await sync()).toMatchObject({ status: 'complete', failures: [] });
});

test('days whose retry is not due are read as soon as one of the days agrees again', async () => {
  const list = alteredRows('responses', (rows) => [...rows].slice(0, 5));
  const workspace = await openWorkspace({ ...few, days: 10, fixtures: list.fixtures });
  expect((await workspace.sync({ only })).status).toBe('partial');
  await setTries(workspace, 3);
  const { differing } = await statusOf(workspace);
  expect(differing.length).toBeGreaterThan(8);
  expect(new Set(differing.map(({ tries }) => tries))).toEqual(new Set([3]));
  list.alter(null);
  // No retry is due for hours, but recent days are read and agree.
  expect(await workspace.sync({ only })).toMatchObject({ status: 'complete', failures: [] });
  await expectEqualToUpstream(workspace, { only });
});

test('a list that loses most rows is read twice, reported, and keeps them, also in a replay, until the deletion is accepted', async () => {
  const list = alteredBody('prompts');
  const workspace = await openWorkspace({ ...few, prompts: 12, days: 1, fixtures: list.fixtures });
  const kept = await keepPages(workspace);
  const sync = (acceptDeletions = false) => workspace.sync({ only: ['prompts'], acceptDeletions });
  await kept.sync({ only: ['prompts'] });
  let reads = 0;
  list.alter((body) => {
    reads += 1;
    return { ...body, data: body.data.slice(0, 5) };
  });
  const held = await kept.sync({ only: ['prompts'] });
  expect(reads).toBe(2);
  expect(held.status).toBe('partial');
  expect(held.failures).toMatchObject([
    {
      code: 'deletions_unconfirmed',
      message: expect.stringContaining('no longer lists 7 of 12 stored rows of prompts'),
    },
  ]);
  expect(await heldIn(workspace)).toMatchObject([{ resource: 'prompts', table: 'prompts', before: 12, lost: 7 }]);
  expect((await statusOf(workspace)).unconfirmedDeletions).toHaveLength(1);
  expect(held.tables['prompts']?.deleted).toBe(0);
  const { warehouse } = await replayAll(workspace, kept.folder);
  const live = 'SELECT CAST(count(*) AS INTEGER) FROM prompts WHERE _deleted_at IS NULL';
  expect(await warehouse.database.exclusive(({ query }) => query(live))).toEqual([[12]]);
  expect(await heldIn({ warehouse: () => warehouse })).toHaveLength(1);
  const accepted = await sync(true);
  expect(accepted).toMatchObject({ status: 'complete', failures: [], tables: { prompts: { deleted: 7 } } });
  expect(await heldIn(workspace)).toEqual([]);
  list.alter(null);
  expect(await sync()).toMatchObject({ status: 'complete', tables: { prompts: { updated: 7 } } });
  await expectEqualToUpstream(workspace, { only: ['prompts'] });
});

test('rows missing from the list and the day counts are deleted; a mass deletion only if accepted', async () => {
  const list = alteredRows('responses');
  const counts = alteredBody('metrics_daily');
  const fixtures = { ...list.fixtures, ...counts.fixtures };
  const workspace = await openWorkspace({ world: 'tiny', fixtures });
  const [before] = await workspace.query('SELECT count(*) AS n FROM responses WHERE _deleted_at IS NULL');
  list.alter(() => []);
  const contradicted = await workspace.sync({ only });
  expect(contradicted).toMatchObject({ status: 'partial', tables: { responses: { deleted: 0 } } });
  expect(await heldIn(workspace)).toEqual([]);
  counts.alter((body) => ({
    ...body,
    data: body.data.map((row: object) => ({ ...row, responses: 0, mentions: 0 })),
  }));
  const held = await workspace.sync({ only });
  expect(held).toMatchObject({ status: 'partial', tables: { responses: { deleted: 0 } } });
  expect(held.failures).toContainEqual(expect.objectContaining({ code: 'deletions_unconfirmed' }));
  expect(await heldIn(workspace)).toMatchObject([{ resource: 'responses', before: Number(before?.['n']) }]);
  const accepted = await workspace.sync({ only, acceptDeletions: true });
  expect(accepted.tables['responses']?.deleted).toBe(Number(before?.['n']));
  expect(accepted).toMatchObject({ status: 'complete', failures: [] });
  expect(await heldIn(workspace)).toEqual([]);
});

test('nested rows missing from most rows of a page are not deleted', async () => {
  const list = alteredRows('responses');
  const workspace = await openWorkspace({ world: 'tiny', fixtures: list.fixtures });
  list.alter((rows) =>
    [...rows].map((row) => ({ ...row, item: () => ({ ...(row.item() as object), citations: [] }) })),
  );
  const refused = await workspace.sync({ only });
  expect(refused.status).toBe('partial');
  expect(refused.failures).toContainEqual(
    expect.objectContaining({ message: expect.stringMatching(/lacks \d+ of \d+ stored rows of response_citations/) }),
  );
  list.alter(null);
  expect(await workspace.sync({ only })).toMatchObject({ status: 'complete', failures: [] });
  await expectEqualToUpstream(workspace, { only });
});

test('alerts of later pages that a read missed are restored by the next sync', async () => {
  const list = alteredRows('alerts');
  const workspace = await openWorkspace({ ...few, days: 40, fixtures: list.fixtures });
  const sync = () => workspace.sync({ only: ['alerts'] });
  await sync();
  await workspace.query("UPDATE sync.coverage SET state = NULL WHERE resource = 'alerts'");
  list.alter((rows) => [...rows].slice(0, -1));
  expect((await sync()).tables['alerts']?.deleted).toBeGreaterThan(0);
  list.alter(null);
  await sync();
  await expectEqualToUpstream(workspace, { only: ['alerts'] });
});
