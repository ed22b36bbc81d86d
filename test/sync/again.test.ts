import { describe, expect, test } from 'vitest';
import type { Workspace } from '../../schemas/fixtures/world/model.ts';
import { addDays, dayOf } from '../../src/contract/time.ts';
import { type Fixture, pagedFrom, Refusal, type Row } from '../../src/sandbox/fixture.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { openWorkspace, type RunChanges, type TestWorkspace } from '../support/workspace.ts';
import { alteredBody, alteredRows, insertLate } from './altered.ts';

const TODAY = dayOf(NOW_MS);
const NINE_DAYS_AGO = addDays(TODAY, -9);
const few = { brands: 1, prompts: 2, days: 11, seed: 4 } as const;
/** Two days, each with three pages of responses. */
const long = { brands: 1, prompts: 2, days: 2, responsesPerDay: 250, seed: 3 } as const;
const only = ['responses'];
const complete = { status: 'complete', failures: [] } as const;

/** Stops after `pages` pages of responses, reading one slice at a time, so that a slice is unfinished. Returns its day. */
async function stopWithin(workspace: TestWorkspace, pages: number, changes: RunChanges = {}): Promise<string> {
  const stop = new AbortController();
  const onProgress: RunChanges['onProgress'] = (stats) => {
    if ((stats.resources.get('responses')?.done ?? 0) >= pages) stop.abort(new Error('Ctrl-C'));
  };
  const summary = await workspace.sync({ only, ...changes, signal: stop.signal, connections: 1, onProgress });
  expect(summary.status).toBe('interrupted');
  const open = await workspace.query(
    "SELECT DISTINCT strftime(range_to, '%Y-%m-%d') AS day FROM sync.checkpoints WHERE resource = 'responses'",
  );
  expect(open.length).toBe(1);
  return String(open[0]?.['day']);
}

describe('a run is complete only if', () => {
  test('late rows within pages of an earlier run are stored', async () => {
    const workspace = await openWorkspace(long);
    const day = await stopWithin(workspace, 2);
    workspace.sandbox.advance({ days: 2 / 24 });
    insertLate(workspace, day);
    expect((await workspace.sync({ only })).status).toBe('complete');
    await expectEqualToUpstream(workspace, { only });
  });

  test('changes in days that an earlier run of the same pass completed are stored', async () => {
    const alerts = alteredRows('alerts', () => {
      throw new Refusal(500, 'internal', 'broken');
    });
    const both = { only: ['responses', 'alerts'] };
    const workspace = await openWorkspace({ ...few, fixtures: alerts.fixtures });
    expect((await workspace.sync(both)).status).toBe('partial');
    alerts.alter(null);
    workspace.sandbox.advance({ days: 0.9 });
    insertLate(workspace, NINE_DAYS_AGO);
    expect((await workspace.sync(both)).status).toBe('complete');
    await expectEqualToUpstream(workspace, both);
  });

  test('rows missing from a response are stored; the day is read twice in the run and once in the next', async () => {
    let asked = 0;
    let lacksUntil = 1;
    const responses = alteredRows('responses', (rows, { question: { from, to }, isFirst }) => {
      const isIt = from <= NINE_DAYS_AGO && NINE_DAYS_AGO <= to;
      if (isIt && isFirst) asked += 1;
      const lacks = isIt && asked <= lacksUntil;
      return [...rows].filter(({ atMs, id }) => !lacks || dayOf(atMs) !== NINE_DAYS_AGO || id > '8');
    });
    const workspace = await openWorkspace({ ...few, fixtures: responses.fixtures });
    expect((await workspace.sync({ only })).status).toBe('complete');
    expect(asked).toBe(2);
    await expectEqualToUpstream(workspace, { only });

    asked = 0;
    lacksUntil = 100;
    await workspace.sync({ only, full: true });
    expect(asked).toBe(2);
    const again = await workspace.sync({ only });
    expect(again.failures).toMatchObject([{ code: 'counts_differ', message: expect.stringContaining(NINE_DAYS_AGO) }]);
    expect(asked, 'a retry reads the day once').toBe(3);
    lacksUntil = 0;
    expect((await workspace.sync({ only })).status).toBe('complete');
    await expectEqualToUpstream(workspace, { only });
  });

  test('all days are proven; days missing from the day counts are read and make the run partial', async () => {
    const counted = addDays(TODAY, -6);
    const daily = alteredBody('metrics_daily', (body) => ({
      ...body,
      data: body.data.filter(({ date }: { date: string }) => date >= counted),
    }));
    const workspace = await openWorkspace({ ...few, fixtures: daily.fixtures });
    await workspace.sync({ only, range: { from: counted, to: TODAY } });
    const firstDay = async (): Promise<unknown> =>
      (await workspace.query("SELECT strftime(min(created_at), '%Y-%m-%d') AS day FROM responses"))[0]?.['day'];
    expect(await firstDay()).toBe(counted);
    const whole = await workspace.sync({ only });
    expect(await firstDay()).toBe(addDays(TODAY, -10));
    // The day counts contradict the list, so nothing proves those days.
    expect(whole.failures).toMatchObject([{ code: 'counts_differ', message: expect.stringContaining('0 counted') }]);
  });
});

test('an expired cursor that returns an empty page restarts its window, during a run three times, and deletes nothing', async () => {
  let forgotten = 0;
  const responses = alteredRows('responses', (rows, { isFirst }) => (!isFirst && forgotten-- > 0 ? [] : rows));
  const workspace = await openWorkspace({ ...long, fixtures: responses.fixtures });
  await workspace.sync({ only });
  await stopWithin(workspace, 2, { full: true });
  forgotten = 1;
  const resumed = await workspace.sync({ only, full: true });
  expect(resumed).toMatchObject(complete);
  expect(forgotten).toBeLessThan(0);
  expect(resumed.tables['responses']?.deleted).toBe(0);
  await expectEqualToUpstream(workspace, { only });

  responses.alter((rows, { isFirst }) => {
    // As after a long wait for the budget.
    if (isFirst && forgotten > 0) workspace.sandbox.advance({ days: 0.005 });
    return isFirst || forgotten-- <= 0 ? rows : [];
  });
  forgotten = 3;
  const summary = await workspace.sync({ only, full: true, connections: 1 });
  expect(summary).toMatchObject(complete);
  expect(summary.tables['responses']?.deleted).toBe(0);
  forgotten = 1000;
  const failing = await workspace.sync({ only, full: true, connections: 1 });
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
  const workspace = await openWorkspace({ ...long, days: 1, fixtures: { alerts } });
  const sync = () => workspace.sync({ only: ['alerts'] });
  const held = async (): Promise<number> =>
    Number((await workspace.query('SELECT count(*) AS n FROM alerts WHERE _deleted_at IS NULL'))[0]?.['n']);
  await sync();
  count = 310;
  isBroken = true;
  expect((await sync()).status).toBe('partial');
  expect(await held()).toBe(210);
  isBroken = false;
  // Too late to resume, and in another pass.
  workspace.sandbox.advance({ days });
  await stopWithin(workspace, 2, { range: { from: TODAY, to: TODAY } });
  expect((await sync()).status).toBe('complete');
  expect(await held()).toBe(310);
});
