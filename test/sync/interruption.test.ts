import { describe, expect, test } from 'vitest';
import { NOW_MS, skippingClock } from '../support/clocks.ts';
import { expectConsistent, expectEqualToUpstream } from '../support/compare.ts';
import { openWorkspace, type RunChanges, type TestWorkspace } from '../support/workspace.ts';

/** Days with up to three pages of responses each. */
const many = { brands: 1, prompts: 2, days: 4, responsesPerDay: 220, seed: 21 } as const;
const fewer = { ...many, days: 2 } as const;
const only = ['responses'];
const complete = { status: 'complete', failures: [] } as const;

/** Syncs until this many requests are sent or pages of responses are stored; returns the number of pages. */
async function stopAfter(
  workspace: TestWorkspace,
  { requests = Number.POSITIVE_INFINITY, pages = Number.POSITIVE_INFINITY },
  changes: RunChanges = {},
): Promise<number> {
  const stop = new AbortController();
  let read = 0;
  const summary = await workspace.sync({
    only,
    connections: 2,
    ...changes,
    signal: stop.signal,
    onProgress: (stats) => {
      read = stats.resources.get('responses')?.done ?? 0;
      if (stats.requests >= requests || read >= pages) stop.abort(new Error('Ctrl-C'));
    },
  });
  expect(summary).toMatchObject({ status: 'interrupted', error: { code: 'interrupted' } });
  return read;
}

interface Progress {
  readonly closed: readonly string[];
  readonly open: readonly string[];
}

/** Returns the ranges of responses that earlier runs have completed, and unfinished ones. */
async function progressOf({ query }: TestWorkspace): Promise<Progress> {
  const ranges = async (table: string): Promise<string[]> => {
    const rows = await query(`SELECT DISTINCT strftime(range_from, '%Y-%m-%d') || '..' || strftime(range_to, '%Y-%m-%d')
      AS range FROM ${table} WHERE resource = 'responses'`);
    return rows.map((row) => String(row['range']));
  };
  return { closed: await ranges('sync.coverage'), open: await ranges('sync.checkpoints') };
}

/** Checks that requests after the first `sent` read no completed range, and continue unfinished ones. Returns how many continue. */
function expectResumed({ sandbox }: TestWorkspace, { closed, open }: Progress, sent: number): number {
  const asked = sandbox.requests.slice(sent).flatMap(({ path, query }) => {
    const given = new URLSearchParams(query);
    const range = `${given.get('from')}..${given.get('to')}`;
    return path.endsWith('/responses') ? [{ range, isFirst: !given.has('cursor') }] : [];
  });
  const continued = asked.filter(({ range }) => open.includes(range));
  expect(
    asked.filter(({ range }) => closed.includes(range)),
    'completed ranges that were requested again',
  ).toEqual([]);
  expect(
    continued.filter(({ isFirst }) => isFirst),
    'unfinished ranges that were restarted',
  ).toEqual([]);
  return continued.length;
}

const passesAndCheckpoints =
  'SELECT count(DISTINCT pass_id) AS passes, (SELECT count(*) FROM sync.checkpoints) AS open FROM sync.runs';

describe('an interrupted run', () => {
  test('leaves a consistent warehouse at any moment, and the next run resumes', async () => {
    const workspace = await openWorkspace(many);
    let continued = 0;
    let spared = 0;
    // First early, then with unfinished windows that the next run completes, then with completed ones.
    const moments = [{ requests: 1 }, { requests: 5 }, { pages: 1 }, { pages: 3 }, { pages: 3 }, { requests: 3 }];
    for (const moment of moments) {
      const progress = await progressOf(workspace);
      const sent = workspace.sandbox.requests.length;
      await stopAfter(workspace, moment);
      await workspace.reopen();
      await expectConsistent(workspace);
      continued += expectResumed(workspace, progress, sent);
      spared += progress.closed.length;
    }
    expect(continued).toBeGreaterThan(0);
    expect(spared).toBeGreaterThan(0);
    expect(await workspace.sync({ only })).toMatchObject(complete);
    await expectEqualToUpstream(workspace, { only });
    expect(await workspace.query(passesAndCheckpoints)).toEqual([{ passes: 1n, open: 0n }]);
  });

  test('is resumed even after other runs', async () => {
    const workspace = await openWorkspace(fewer);
    await stopAfter(workspace, { pages: 3 });
    const progress = await progressOf(workspace);
    expect(progress.closed.length + progress.open.length).toBeGreaterThan(0);
    expect(await workspace.sync({ only: ['alerts'] })).toMatchObject({ status: 'complete' });
    const sent = workspace.sandbox.requests.length;
    expect(await workspace.sync({ only })).toMatchObject(complete);
    expectResumed(workspace, progress, sent);
    await expectEqualToUpstream(workspace, { only });
    expect(await workspace.query(passesAndCheckpoints)).toEqual([{ passes: 2n, open: 0n }]);
  });

  test.for([
    [-5, 'upstream'],
    [1.4, 'checked'],
  ] as const)("is resumed when this machine's clock is %d days from upstream's (%s)", async ([days, clockPolicy]) => {
    const workspace = await openWorkspace(fewer);
    const clock = skippingClock(() => NOW_MS + days * 86_400_000);
    await stopAfter(workspace, { pages: 4 }, { clock, clockPolicy });
    const progress = await progressOf(workspace);
    expect(progress.closed.length).toBeGreaterThan(0);
    const sent = workspace.sandbox.requests.length;
    expect(await workspace.sync({ only, clock, clockPolicy })).toMatchObject(complete);
    expectResumed(workspace, progress, sent);
    await expectEqualToUpstream(workspace, { only });
  });

  test('restarts slices that are too old to resume', async () => {
    const workspace = await openWorkspace(fewer);
    await stopAfter(workspace, { pages: 3 });
    workspace.sandbox.advance({ days: 3, lateAnswers: 5, deletedResponses: 5 });
    expect(await workspace.sync({ only })).toMatchObject(complete);
    await expectEqualToUpstream(workspace, { only });
  });
});
