import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { RunStatus } from '../../src/warehouse/ledger/runs.ts';
import { startChild } from '../support/child.ts';
import { hurriedClock, NOW_MS } from '../support/clocks.ts';
import { expectConsistent, expectEqualToUpstream } from '../support/compare.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';

const script = new URL('../support/sync-child.ts', import.meta.url);

const many = { brands: 1, prompts: 4, days: 5, responsesPerDay: 320, seed: 21 } as const;

describe('an interrupted run', () => {
  test('leaves a consistent warehouse at any moment, and the next run resumes', async () => {
    const workspace = await openWorkspace(many);
    const statuses: RunStatus[] = [];
    let resumed = 0;
    let spared = 0;
    // First early, then with unfinished windows that the next run completes. The two windows have 13 and 2 pages, so that one of them is
    // complete after 14, in whichever order the pages arrive. The last run finds it.
    const moments = [{ requests: 1 }, { requests: 5 }, { pages: 2 }, { pages: 5 }, { pages: 14 }, { requests: 3 }];
    let readBefore = 0;
    for (const { requests = Number.POSITIVE_INFINITY, pages = Number.POSITIVE_INFINITY } of moments) {
      const stop = new AbortController();
      const progress = await workUnderWay(workspace);
      const sent = workspace.sandbox.requests.length;
      let read = 0;
      const summary = await workspace.sync({
        signal: stop.signal,
        connections: 2,
        onProgress: (stats) => {
          read = stats.resources.get('responses')?.done ?? 0;
          if (stats.requests >= requests || readBefore + read >= pages) stop.abort(new Error('Ctrl-C'));
        },
      });
      readBefore += read;
      statuses.push(summary.status);
      expect(summary.error).toMatchObject({ code: 'interrupted' });
      await workspace.reopen();
      await expectConsistent(workspace);
      const asked = workspace.sandbox.requests.slice(sent).filter(({ path }) => path.endsWith('/responses'));
      const again = asked.filter(({ query }) => progress.closed.includes(rangeOf(query)));
      expect(again, 'completed windows that were requested again').toEqual([]);
      const anew = asked.filter(({ query }) => progress.open.includes(rangeOf(query)) && !query.includes('cursor='));
      expect(anew, 'windows that were restarted').toEqual([]);
      resumed += asked.filter(({ query }) => progress.open.includes(rangeOf(query))).length;
      spared += progress.closed.length;
    }
    expect(new Set(statuses)).toEqual(new Set(['interrupted']));
    expect(resumed).toBeGreaterThan(0);
    expect(spared).toBeGreaterThan(0);
    expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
    await expectEqualToUpstream(workspace);
    expect(await workspace.query('SELECT count(DISTINCT pass_id) AS passes FROM sync.runs')).toEqual([{ passes: 1n }]);
    expect(await workspace.query('SELECT count(*) AS open FROM sync.checkpoints')).toEqual([{ open: 0n }]);
  });

  test('is resumed even after other runs', async () => {
    const workspace = await openWorkspace(many);
    const stop = new AbortController();
    await workspace.sync({
      signal: stop.signal,
      connections: 2,
      onProgress: (stats) => {
        if ((stats.resources.get('responses')?.done ?? 0) >= 3) stop.abort(new Error('Ctrl-C'));
      },
    });
    const progress = await workUnderWay(workspace);
    expect(progress.closed.length + progress.open.length).toBeGreaterThan(0);
    expect(await workspace.sync({ only: ['alerts'] })).toMatchObject({ status: 'complete' });
    const sent = workspace.sandbox.requests.length;
    expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
    const asked = workspace.sandbox.requests.slice(sent).filter(({ path }) => path.endsWith('/responses'));
    const again = asked.filter(
      ({ query }) =>
        progress.closed.includes(rangeOf(query)) ||
        (progress.open.includes(rangeOf(query)) && !query.includes('cursor=')),
    );
    expect(again).toEqual([]);
    await expectEqualToUpstream(workspace);
    expect(await workspace.query('SELECT count(DISTINCT pass_id) AS passes FROM sync.runs')).toEqual([{ passes: 2n }]);
    expect(await workspace.query('SELECT count(*) AS open FROM sync.checkpoints')).toEqual([{ open: 0n }]);
  });

  test.for([
    [-5, 'upstream'],
    [1.4, 'checked'],
  ] as const)("is resumed when this machine's clock is %d days from upstream's (%s)", async ([days, clockPolicy]) => {
    const workspace = await openWorkspace(many);
    const clock = hurriedClock(() => NOW_MS + days * 86_400_000);
    const stop = new AbortController();
    await workspace.sync({
      clock,
      clockPolicy,
      connections: 2,
      signal: stop.signal,
      onProgress: (stats) => {
        if ((stats.resources.get('responses')?.done ?? 0) >= 6) stop.abort(new Error('Ctrl-C'));
      },
    });
    const { closed } = await workUnderWay(workspace);
    expect(closed.length).toBeGreaterThan(0);
    const sent = workspace.sandbox.requests.length;
    expect(await workspace.sync({ clock, clockPolicy })).toMatchObject({ status: 'complete', failures: [] });
    const asked = workspace.sandbox.requests.slice(sent).filter(({ path }) => path.endsWith('/responses'));
    expect(asked.filter(({ query }) => closed.includes(rangeOf(query)))).toEqual([]);
    await expectEqualToUpstream(workspace);
  });

  test('restarts slices that are too old to resume', async () => {
    const workspace = await openWorkspace(many);
    const stop = new AbortController();
    await workspace.sync({
      signal: stop.signal,
      onProgress: (stats) => {
        if (stats.requests >= 26) stop.abort(new Error('Ctrl-C'));
      },
    });
    workspace.sandbox.advance({ days: 3, lateAnswers: 5, deletedResponses: 5 });
    expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
    await expectEqualToUpstream(workspace);
  });

  test('leaves a consistent warehouse after kill -9, and the next run resumes', async () => {
    const workspace = await openWorkspace({ ...many, latencyMs: 5 });
    const { sandbox } = workspace;
    await workspace.warehouse().close();
    for (const requests of [6, 12, 20]) {
      const child = startChild(script, workspace.path, sandbox.baseUrl, sandbox.key, String(NOW_MS));
      expect(await child.message()).toBe('open');
      const sent = sandbox.requests.length;
      while (sandbox.requests.length < sent + requests && child.process.exitCode === null) await delay(1);
      await child.kill();
      await workspace.reopen();
      await expectConsistent(workspace);
      expect(await workspace.query("SELECT count(*) AS n FROM sync.runs WHERE status = 'running'")).toEqual([
        { n: 1n },
      ]);
      await workspace.warehouse().close();
    }
    await workspace.reopen();
    expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
    await expectEqualToUpstream(workspace);
  });
});

// Ranges of responses that an earlier run has completed, and unfinished ones.
async function workUnderWay({ query }: TestWorkspace): Promise<{ closed: string[]; open: string[] }> {
  const ranges = async (table: string): Promise<string[]> => {
    const rows = await query(`SELECT DISTINCT strftime(range_from, '%Y-%m-%d') || '..' || strftime(range_to, '%Y-%m-%d')
      AS range FROM ${table} WHERE resource = 'responses'`);
    return rows.map((row) => String(row['range']));
  };
  return { closed: await ranges('sync.coverage'), open: await ranges('sync.checkpoints') };
}

function rangeOf(query: string): string {
  const given = new URLSearchParams(query);
  return `${given.get('from')}..${given.get('to')}`;
}
