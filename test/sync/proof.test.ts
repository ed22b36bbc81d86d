import { expect, test } from 'vitest';
import { fixtures } from '../../schemas/fixtures/all.ts';
import type { Workspace } from '../../schemas/fixtures/world/model.ts';
import { RETRIES_MAX } from '../../src/plausibility/completeness.ts';
import type { Fixture, Row } from '../../src/sandbox/fixture.ts';
import { readHeldDeletions } from '../../src/warehouse/ledger/held-deletions.ts';
import { readStatus } from '../../src/warehouse/ledger/warehouse-status.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';
import { keepPages, replayAll } from './kept.ts';

const HOUR_MS = 3_600_000;

type Answering = Extract<Fixture<Workspace>, { answer: unknown }>;
type Paged = Extract<Fixture<Workspace>, { rows: unknown }>;
interface List {
  readonly data: readonly Record<string, unknown>[];
}

// A fixture that a test changes while it runs.
function changing(name: string): {
  fixture: Record<string, Answering>;
  change: (edit: ((body: List) => List) | null) => void;
} {
  const own = fixtures[name] as Answering;
  let edit: ((body: List) => List) | null = null;
  const answer: Answering['answer'] = (question) => {
    const body = own.answer(question) as List;
    return edit === null ? body : edit(body);
  };
  const change = (next: typeof edit): void => {
    edit = next;
  };
  return { fixture: { [name]: { ...own, answer } }, change };
}

// The same for a paged list.
function changingRows(name: string): {
  fixture: Record<string, Paged>;
  change: (edit: ((rows: Row[]) => Row[]) | null) => void;
} {
  const own = fixtures[name] as Paged;
  let edit: ((rows: Row[]) => Row[]) | null = null;
  const rows: Paged['rows'] = (question, after) => {
    const listed = own.rows(question, after);
    return edit === null ? listed : edit([...listed]);
  };
  const change = (next: typeof edit): void => {
    edit = next;
  };
  return { fixture: { [name]: { ...own, rows } }, change };
}

const statusOf = ({ warehouse, catalogue }: TestWorkspace, nowMs = NOW_MS) =>
  warehouse().database.exclusive(({ query }) => readStatus(query, catalogue, nowMs));
const heldIn = ({ warehouse }: TestWorkspace) =>
  warehouse().database.exclusive(({ query }) => readHeldDeletions(query));

test('a day that differs is retried in two runs, then after hours, then reported as permanent', async () => {
  const counts = changing('metrics_daily');
  const workspace = await openWorkspace({ brands: 1, days: 12, fixtures: counts.fixture });
  const { sandbox } = workspace;
  const days = new Set<unknown>();
  counts.change((body) => {
    const rows = body.data.map((row) => {
      days.add(row['date']);
      const isWrong = row['date'] === [...days].sort()[3];
      return isWrong ? { ...row, responses: Number(row['responses']) + 1 } : row;
    });
    return { ...body, data: rows };
  });
  const readsOf = async (): Promise<number> => {
    const [row] = await workspace.query(
      `SELECT count(*) AS n FROM sync.requests WHERE resource = 'responses' AND run_id = (SELECT arg_max(run_id, rowid) FROM sync.runs)`,
    );
    return Number(row?.['n']);
  };
  const first = await workspace.sync();
  expect(first.status).toBe('partial');
  expect(first.failures).toMatchObject([
    { code: 'counts_differ', message: expect.stringContaining('retried in the next sync') },
  ]);
  const { differing } = await statusOf(workspace);
  expect(differing).toMatchObject([{ resource: 'responses', tries: 1, isPermanent: false, nextRetryAt: null }]);
  expect(differing[0]?.counted).toBeGreaterThan(differing[0]?.stored ?? 0);
  await workspace.sync();
  const third = await workspace.sync();
  expect(third.failures).toMatchObject([
    { code: 'counts_differ', message: expect.stringContaining('in the first sync after') },
  ]);
  const retrying = await readsOf();
  // The next retry is not due: the day is not read, but the run is still partial.
  const waiting = await workspace.sync();
  expect(waiting.status).toBe('partial');
  expect(await readsOf()).toBeLessThan(retrying);
  expect((await statusOf(workspace)).differing).toMatchObject([
    { tries: RETRIES_MAX - 1, nextRetryAt: expect.any(String) },
  ]);
  sandbox.advance({ days: 0.3 });
  const last = await workspace.sync();
  expect(last).toMatchObject({ status: 'complete', failures: [] });
  expect(last.warnings).toContainEqual(expect.objectContaining({ code: 'counts_differ' }));
  expect((await statusOf(workspace)).differing).toMatchObject([{ tries: RETRIES_MAX, isPermanent: true }]);
  // The stored rows equal upstream's list all the time.
  counts.change(null);
  expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
  expect((await statusOf(workspace)).differing).toEqual([]);
  await expectEqualToUpstream(workspace);
});

test('day counts that lag behind the list by hours make no nightly run partial', async () => {
  const own = fixtures['metrics_daily'] as Answering;
  const daily: Answering = { answer: (question) => own.answer({ ...question, nowMs: question.nowMs - 6 * HOUR_MS }) };
  const night = Date.parse('2026-03-15T02:15:00Z');
  const fixture = { metrics_daily: daily };
  const workspace = await openWorkspace({ brands: 1, days: 12, clock: () => night, fixtures: fixture });
  for (let run = 1; run <= 4; run++) {
    expect(await workspace.sync(), `run ${run}`).toMatchObject({ status: 'complete', failures: [], warnings: [] });
    const [yesterday] = await workspace.query(
      "SELECT upstream, held FROM sync.audits WHERE resource = 'responses' AND NOT agreed ORDER BY day DESC LIMIT 1",
    );
    expect(Number(yesterday?.['held'])).toBeGreaterThan(Number(yesterday?.['upstream']));
    workspace.sandbox.advance({ days: 1 });
  }
});

test('an engine that upstream lists and never counts makes no run partial; an engine no longer counted does', async () => {
  const counts = changing('metrics_daily');
  const workspace = await openWorkspace({ brands: 1, days: 12, fixtures: counts.fixture });
  const without = (engine: string) => (body: List) => ({
    ...body,
    data: body.data.filter((row) => row['engine'] !== engine),
  });
  counts.change(without('perplexity'));
  for (let run = 1; run <= 3; run++) {
    expect(await workspace.sync(), `run ${run}`).toMatchObject({ status: 'complete', failures: [], warnings: [] });
    workspace.sandbox.advance({ days: 1, lateAnswers: 4 });
  }
  counts.change(null);
  expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [], warnings: [] });
  await expectEqualToUpstream(workspace);
  counts.change(without('perplexity'));
  const vanished = await workspace.sync();
  expect(vanished.failures).toMatchObject([{ code: 'counts_differ' }]);
});

test('a difference like those that upstream has had on many days makes no later run partial; a larger one does', async () => {
  const counts = changing('metrics_daily');
  const list = changingRows('responses');
  const fixture = { ...counts.fixture, ...list.fixture };
  const workspace = await openWorkspace({ brands: 1, prompts: 3, days: 20, fixtures: fixture });
  const { sandbox } = workspace;
  const sync = () => workspace.sync({ only: ['responses'] });
  const isOff = (date: unknown): boolean => Number(String(date).slice(-2)) % 3 === 0;
  counts.change((body) => ({
    ...body,
    data: body.data.map((row) =>
      row['engine'] === 'chatgpt' && isOff(row['date']) ? { ...row, responses: Number(row['responses']) + 1 } : row,
    ),
  }));
  for (let run = 1; run <= 3; run++) expect((await sync()).status).toBe('partial');
  sandbox.advance({ days: 0.3 });
  await sync();
  for (let night = 1; night <= 3; night++) {
    sandbox.advance({ days: 1 });
    const { status, failures, warnings } = await sync();
    expect({ status, failures }, `night ${night}`).toEqual({ status: 'complete', failures: [] });
    expect(new Set(warnings.map(({ code }) => code))).toEqual(new Set(['counts_differ']));
  }
  sandbox.advance({ days: 1 });
  list.change((rows) => rows.filter((_row, index) => index % 2 === 0));
  const cut = await sync();
  expect(cut.failures).toMatchObject([{ code: 'counts_differ' }]);
  list.change(null);
  counts.change(null);
  expect(await sync()).toMatchObject({ status: 'complete', failures: [] });
});

test('days whose retry is not due are read as soon as one of the days agrees again', async () => {
  const list = changingRows('responses');
  const workspace = await openWorkspace({ brands: 1, days: 12, fixtures: list.fixture });
  list.change((rows) => rows.slice(0, 5));
  for (let run = 0; run < 3; run++) expect((await workspace.sync()).status).toBe('partial');
  const { differing } = await statusOf(workspace);
  expect(differing.length).toBeGreaterThan(8);
  expect(new Set(differing.map(({ tries }) => tries))).toEqual(new Set([3]));
  list.change(null);
  // No retry is due for hours, but recent days are read and agree.
  expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
  await expectEqualToUpstream(workspace);
});

test('a list that loses most rows is read twice, reported, and keeps them until the deletion is accepted', async () => {
  const list = changing('prompts');
  const workspace = await openWorkspace({ brands: 1, prompts: 12, days: 4, fixtures: list.fixture });
  await workspace.sync();
  let reads = 0;
  list.change((body) => {
    reads += 1;
    return { ...body, data: body.data.slice(0, 5) };
  });
  const held = await workspace.sync();
  expect(reads).toBe(2);
  expect(held.status).toBe('partial');
  expect(held.failures).toMatchObject([
    { code: 'deletions_held', message: expect.stringContaining('no longer lists 7 of 12 stored rows of prompts') },
  ]);
  expect(await heldIn(workspace)).toMatchObject([{ resource: 'prompts', table: 'prompts', before: 12, lost: 7 }]);
  expect((await statusOf(workspace)).heldDeletions).toHaveLength(1);
  expect(held.tables['prompts']?.deleted).toBe(0);
  const accepted = await workspace.sync({ acceptDeletions: true });
  expect(accepted).toMatchObject({ status: 'complete', failures: [], tables: { prompts: { deleted: 7 } } });
  expect(await heldIn(workspace)).toEqual([]);
  list.change(null);
  expect(await workspace.sync()).toMatchObject({ status: 'complete', tables: { prompts: { updated: 7 } } });
  await expectEqualToUpstream(workspace);
});

test('rows missing from the list and the day counts are deleted; a mass deletion only if accepted', async () => {
  const list = changingRows('responses');
  const counts = changing('metrics_daily');
  const workspace = await openWorkspace({ brands: 1, days: 6, fixtures: { ...list.fixture, ...counts.fixture } });
  await workspace.sync();
  const [before] = await workspace.query('SELECT count(*) AS n FROM responses WHERE _deleted_at IS NULL');
  list.change(() => []);
  const contradicted = await workspace.sync();
  expect(contradicted).toMatchObject({ status: 'partial', tables: { responses: { deleted: 0 } } });
  expect(await heldIn(workspace)).toEqual([]);
  counts.change((body) => ({ ...body, data: body.data.map((row) => ({ ...row, responses: 0, mentions: 0 })) }));
  const held = await workspace.sync();
  expect(held).toMatchObject({ status: 'partial', tables: { responses: { deleted: 0 } } });
  expect(held.failures).toContainEqual(expect.objectContaining({ code: 'deletions_held' }));
  expect(await heldIn(workspace)).toMatchObject([{ resource: 'responses', before: Number(before?.['n']) }]);
  const accepted = await workspace.sync({ acceptDeletions: true });
  expect(accepted.tables['responses']?.deleted).toBe(Number(before?.['n']));
  expect(accepted).toMatchObject({ status: 'complete', failures: [] });
  expect(await heldIn(workspace)).toEqual([]);
});

test('nested rows missing from most rows of a page are not deleted', async () => {
  const list = changingRows('responses');
  const workspace = await openWorkspace({ brands: 1, days: 4, fixtures: list.fixture });
  await workspace.sync();
  list.change((rows) => rows.map((row) => ({ ...row, item: () => ({ ...(row.item() as object), citations: [] }) })));
  const refused = await workspace.sync();
  expect(refused.status).toBe('partial');
  expect(refused.failures).toContainEqual(
    expect.objectContaining({ message: expect.stringMatching(/lacks \d+ of \d+ stored rows of response_citations/) }),
  );
  list.change(null);
  expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
  await expectEqualToUpstream(workspace);
});

test('a replay holds back the same deletions as the sync', async () => {
  const list = changing('prompts');
  const workspace = await openWorkspace({ brands: 1, prompts: 12, days: 3, fixtures: list.fixture });
  const { folder, sync } = await keepPages(workspace);
  await sync();
  list.change((body) => ({ ...body, data: body.data.slice(0, 5) }));
  expect((await sync()).status).toBe('partial');
  const { warehouse } = await replayAll(workspace, folder);
  const live = await warehouse.database.exclusive(({ query }) =>
    query('SELECT CAST(count(*) AS INTEGER) FROM prompts WHERE _deleted_at IS NULL'),
  );
  expect(live).toEqual([[12]]);
  expect(await warehouse.database.exclusive(({ query }) => readHeldDeletions(query))).toHaveLength(1);
});

test('alerts of later pages that a read missed are restored by the next sync', async () => {
  const list = changingRows('alerts');
  const workspace = await openWorkspace({ brands: 1, days: 40, fixtures: list.fixture });
  list.change(null);
  await workspace.sync();
  await workspace.query("UPDATE sync.coverage SET state = NULL WHERE resource = 'alerts'");
  list.change((rows) => rows.slice(0, -1));
  expect((await workspace.sync()).tables['alerts']?.deleted).toBeGreaterThan(0);
  list.change(null);
  await workspace.sync();
  await expectEqualToUpstream(workspace);
});
