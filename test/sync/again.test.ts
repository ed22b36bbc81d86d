import { describe, expect, test } from 'vitest';
import { fixtures } from '../../schemas/fixtures/all.ts';
import { insertAnswer, walkAnswers } from '../../schemas/fixtures/world/answers.ts';
import type { Workspace } from '../../schemas/fixtures/world/model.ts';
import { addDays, dayOf } from '../../src/contract/time.ts';
import { type Fixture, pagedFrom, Refusal, type Row } from '../../src/sandbox/fixture.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { openWorkspace, type RunChanges, type TestWorkspace } from '../support/workspace.ts';
import { bent } from './bent.ts';

type Answering = Extract<Fixture<Workspace>, { answer: unknown }>;

const NINE_DAYS_AGO = addDays(dayOf(NOW_MS), -9);
const long = { brands: 1, prompts: 4, days: 8, responsesPerDay: 350, seed: 3 } as const;

// Stops after `pages` pages of responses, reading one slice at a time, so that a slice is unfinished.
async function stopWithin(workspace: TestWorkspace, pages: number, changes: RunChanges = {}): Promise<string> {
  const stop = new AbortController();
  const onProgress: RunChanges['onProgress'] = (stats) => {
    if ((stats.resources.get('responses')?.done ?? 0) >= pages) stop.abort(new Error('Ctrl-C'));
  };
  const summary = await workspace.sync({ ...changes, signal: stop.signal, connections: 1, onProgress });
  expect(summary.status).toBe('interrupted');
  const open = await workspace.query(
    "SELECT DISTINCT strftime(range_to, '%Y-%m-%d') AS day FROM sync.checkpoints WHERE resource = 'responses'",
  );
  expect(open.length).toBe(1);
  return String(open[0]?.['day']);
}

// Adds a response that is newer than all others of its day.
function insertLate({ sandbox }: TestWorkspace, day: string): void {
  const { world } = sandbox;
  const [brand] = world.brands as [Workspace['brands'][number]];
  const [other] = walkAnswers(world.plan, brand, { from: day, to: day }, world.now());
  if (other === undefined) throw new Error(`no response on ${day}`);
  const id = `${other.id.slice(0, -4)}beef`;
  insertAnswer(world.plan, brand, { ...other, id, atMs: Date.parse(`${day}T23:59:58Z`), visibleAtMs: other.atMs });
}

describe('a run is complete only if', () => {
  test('late rows within pages of an earlier run are stored', async () => {
    const workspace = await openWorkspace(long);
    const day = await stopWithin(workspace, 2);
    workspace.sandbox.advance({ days: 2 / 24 });
    insertLate(workspace, day);
    expect((await workspace.sync()).status).toBe('complete');
    await expectEqualToUpstream(workspace);
  });

  test('changes in days that an earlier run of the same pass completed are stored', async () => {
    let isBroken = true;
    const alerts = bent('alerts', (_question, rows) => {
      if (isBroken) throw new Refusal(500, 'internal', 'broken');
      return rows();
    });
    const workspace = await openWorkspace({
      brands: 1,
      prompts: 4,
      days: 20,
      seed: 4,
      responsesPerDay: 350,
      fixtures: alerts,
    });
    expect((await workspace.sync()).status).toBe('partial');
    isBroken = false;
    workspace.sandbox.advance({ days: 0.9 });
    insertLate(workspace, NINE_DAYS_AGO);
    expect((await workspace.sync()).status).toBe('complete');
    await expectEqualToUpstream(workspace);
  });

  test('rows missing from a response are stored; the day is read twice in the run and once in the next', async () => {
    let asked = 0;
    let lacksUntil = 1;
    const responses = bent('responses', function* (question, rows, isFirst) {
      const isIt = question.from <= NINE_DAYS_AGO && NINE_DAYS_AGO <= question.to;
      if (isIt && isFirst) asked += 1;
      const lacks = isIt && asked <= lacksUntil;
      for (const row of rows()) if (!lacks || dayOf(row.atMs) !== NINE_DAYS_AGO || row.id > '8') yield row;
    });
    const workspace = await openWorkspace({ brands: 1, prompts: 4, days: 20, seed: 4, fixtures: responses });
    expect((await workspace.sync()).status).toBe('complete');
    expect(asked).toBe(2);
    await expectEqualToUpstream(workspace);

    asked = 0;
    lacksUntil = 100;
    await workspace.sync({ full: true });
    expect(asked).toBe(2);
    const again = await workspace.sync();
    expect(again.failures).toMatchObject([{ code: 'counts_differ', message: expect.stringContaining(NINE_DAYS_AGO) }]);
    expect(asked, 'a retry reads the day once').toBe(3);
    lacksUntil = 0;
    expect((await workspace.sync()).status).toBe('complete');
    await expectEqualToUpstream(workspace);
  });

  test('all days are proven; days missing from the day counts are read and make the run partial', async () => {
    const counted = addDays(dayOf(NOW_MS), -6);
    const daily: Answering = {
      answer: (question) => {
        const body = (fixtures['metrics_daily'] as Answering).answer(question) as { data: { date: string }[] };
        return { ...body, data: body.data.filter(({ date }) => date >= counted) };
      },
    };
    const workspace = await openWorkspace({ brands: 1, days: 12, seed: 5, fixtures: { metrics_daily: daily } });
    await workspace.sync({ range: { from: counted, to: dayOf(NOW_MS) } });
    const firstDay = async (): Promise<unknown> =>
      (await workspace.query("SELECT strftime(min(created_at), '%Y-%m-%d') AS day FROM responses"))[0]?.['day'];
    expect(await firstDay()).toBe(counted);
    const whole = await workspace.sync();
    expect(await firstDay()).toBe(addDays(dayOf(NOW_MS), -11));
    // The day counts contradict the list, so nothing proves those days.
    expect(whole.failures).toMatchObject([{ code: 'counts_differ', message: expect.stringContaining('0 counted') }]);
  });
});

test('an expired cursor that returns an empty page restarts its window and deletes nothing', async () => {
  let forgotten = 0;
  const responses = bent('responses', (_question, rows, isFirst) => (!isFirst && forgotten-- > 0 ? [] : rows()));
  const workspace = await openWorkspace({ ...long, fixtures: responses });
  await workspace.sync();
  await stopWithin(workspace, 2, { full: true });
  forgotten = 1;
  const summary = await workspace.sync({ full: true });
  expect(summary).toMatchObject({ status: 'complete', failures: [] });
  expect(forgotten).toBeLessThan(0);
  expect(summary.tables['responses']?.deleted).toBe(0);
  await expectEqualToUpstream(workspace);
});

test('a cursor that expires during a run restarts its window once', async () => {
  let forgotten = 0;
  let forget = (): void => undefined;
  const responses = bent('responses', (_question, rows, isFirst) => {
    if (isFirst && forgotten > 0) forget();
    return isFirst || forgotten-- <= 0 ? rows() : [];
  });
  const workspace = await openWorkspace({ ...long, fixtures: responses });
  await workspace.sync();
  // As after a long wait for the budget.
  forget = () => void workspace.sandbox.advance({ days: 0.005 });
  forgotten = 1;
  const summary = await workspace.sync({ full: true, connections: 1 });
  expect(summary).toMatchObject({ status: 'complete', failures: [] });
  expect(summary.tables['responses']?.deleted).toBe(0);
  forgotten = 1000;
  const failing = await workspace.sync({ full: true, connections: 1 });
  expect(failing).toMatchObject({ status: 'partial', error: null });
  expect(failing.tables['responses']?.deleted).toBe(0);
});

test.for([1, 3])('new items of a settled list that an unfinished read skipped are read %i days later', async (days) => {
  let count = 10;
  let isBroken = false;
  const rowOf = (index: number): Row => {
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
    const atMs = NOW_MS - 86_400_000 + index * 1000;
    return { id, atMs, item: () => ({ id, headline: `${index}`, detectedAt: new Date(atMs).toISOString() }) };
  };
  const alerts: Fixture<Workspace> = {
    rows: (_question, after) => {
      const rows = pagedFrom(
        Array.from({ length: count }, (_, index) => rowOf(index)),
        after,
      );
      if (isBroken && rows.length < 150) throw new Refusal(500, 'internal', 'broken');
      return rows;
    },
  };
  const workspace = await openWorkspace({ ...long, days: 3, fixtures: { alerts } });
  const held = async (): Promise<number> =>
    Number((await workspace.query('SELECT count(*) AS n FROM alerts WHERE _deleted_at IS NULL'))[0]?.['n']);
  await workspace.sync();
  count = 310;
  isBroken = true;
  expect((await workspace.sync()).status).toBe('partial');
  expect(await held()).toBe(210);
  isBroken = false;
  // Too late to resume.
  workspace.sandbox.advance({ days });
  await stopWithin(workspace, 2, { only: ['responses'], range: { from: dayOf(NOW_MS), to: dayOf(NOW_MS) } });
  expect((await workspace.sync()).status).toBe('complete');
  expect(await held()).toBe(310);
});
