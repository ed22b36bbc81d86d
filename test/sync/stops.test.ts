import { describe, expect, test } from 'vitest';
import { notFound } from '../../src/sandbox/fixture.ts';
import type { SyncStats } from '../../src/sync/sync-stats.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectConsistent, expectEqualToUpstream, fingerprint } from '../support/compare.ts';
import { changesOf, openWorkspace } from '../support/workspace.ts';
import { alteredBody } from './altered.ts';

const few = { brands: 1, prompts: 2, days: 2 } as const;

/** Calls `step` once, after `requests` requests of a run. */
function after(requests: number, step: () => void): (stats: SyncStats) => void {
  let done = false;
  return (stats) => {
    if (done || stats.requests < requests) return;
    done = true;
    step();
  };
}

describe('a run stops', () => {
  test('at once if the key becomes disabled or unplanned, and keeps committed pages', async () => {
    const workspace = await openWorkspace(few);
    const { sandbox } = workspace;
    for (const { state, code, status } of [
      { state: 'disabled', code: 'unauthorized', status: 401 },
      { state: 'unplanned', code: 'plan_required', status: 403 },
    ] as const) {
      const sent = sandbox.requests.length;
      const summary = await workspace.sync({ onProgress: after(10, () => sandbox.setKey(sandbox.key, state)) });
      expect(summary).toMatchObject({ status: 'failed', error: { code } });
      // Requests in flight still get responses; none is sent after the first rejection.
      expect(sandbox.requests.filter((request) => request.status === status).length).toBeLessThanOrEqual(8);
      expect(sandbox.requests.length - sent).toBeLessThan(30);
      await expectConsistent(workspace);
      const kept = await workspace.query('SELECT sum(inserted) AS rows FROM sync.requests');
      expect(Number(kept[0]?.['rows'])).toBeGreaterThan(0);
      expect(await workspace.query('SELECT DISTINCT status FROM sync.runs')).toEqual([{ status: 'failed' }]);
      sandbox.setKey(sandbox.key, 'active');
    }
    expect(await workspace.sync()).toMatchObject({ status: 'complete' });
    expect(sandbox.requests.length).toBeGreaterThan(40);
    await expectEqualToUpstream(workspace);
  });

  test('if upstream is unreachable', async () => {
    const workspace = await openWorkspace(few);
    await workspace.sandbox.close();
    const summary = await workspace.sync();
    expect(summary).toMatchObject({ status: 'failed', error: { code: 'unreachable' } });
    expect(summary.requests).toBe(5);
    const requests = await workspace.query('SELECT DISTINCT status, error FROM sync.requests');
    expect(requests).toEqual([{ status: null, error: expect.stringMatching(/connection refused/) }]);
  });
});

describe('errors of single resources', () => {
  test('a selected brand that upstream does not list is a warning', async () => {
    const workspace = await openWorkspace({ world: 'tiny' });
    const id = '00000000-0000-4000-8000-000000000000';
    const summary = await workspace.sync({ brands: [id] });
    expect(summary).toMatchObject({ status: 'complete', failures: [] });
    expect(summary.warnings).toContainEqual(
      expect.objectContaining({ code: 'not_found', message: expect.stringContaining(id) }),
    );
  });

  test('a brand deleted during a run is marked as deleted, and the run is complete', async () => {
    const workspace = await openWorkspace({ ...few, prompts: 1, days: 1, brands: 2 });
    const { world } = workspace.sandbox;
    const gone = world.brands[1]?.id;
    const only = ['prompts', 'responses', 'alerts', 'articles', 'metrics', 'metrics_daily'];
    const summary = await workspace.sync({ only, onProgress: after(8, () => world.brands.pop()) });
    expect(summary).toMatchObject({ status: 'complete', failures: [] });
    expect(workspace.sandbox.counts.byStatus['404']).toBeGreaterThan(0);
    const marked = 'SELECT CAST(id AS VARCHAR) AS id FROM brands WHERE _deleted_at IS NOT NULL';
    expect(await workspace.query(marked)).toEqual([{ id: gone }]);
    const [ledger] = await workspace.query('SELECT count(*) AS requests FROM sync.requests');
    expect(ledger).toEqual({ requests: BigInt(workspace.sandbox.counts.total) });
    await workspace.sync({ only });
    expect(await workspace.query(marked)).toEqual([{ id: gone }]);
    await expectEqualToUpstream(workspace, { only });
  });

  test('a row whose detail returns 404 stays while it is listed; once unlisted it is marked with its children', async () => {
    const article = alteredBody('article');
    const articles = alteredBody('articles');
    const workspace = await openWorkspace({ world: 'tiny', fixtures: { ...article.fixtures, ...articles.fixtures } });
    const sync = (full = false) => workspace.sync({ only: ['article'], full });
    const [chosen] = await workspace.query('SELECT CAST(min(article_id) AS VARCHAR) AS id FROM article_sources');
    const gone = String(chosen?.['id']);
    const read = async () => {
      const [row] = await workspace.query(`SELECT epoch_ms(_deleted_at) AS at FROM articles WHERE id = '${gone}'`);
      const [live] = await workspace.query(
        `SELECT count(*) > 0 AS live FROM article_sources WHERE article_id = '${gone}' AND _deleted_at IS NULL`,
      );
      return { ...row, ...live };
    };
    article.alter((body, { path }) => {
      if (path['articleId'] === gone) throw notFound('the article');
      return body;
    });
    // Details are requested only for changed rows, and this row did not change.
    const listed = await sync(true);
    expect(listed).toMatchObject({ status: 'complete', failures: [] });
    expect(listed.warnings).toContainEqual(
      expect.objectContaining({ code: 'not_found', slice: expect.stringContaining(gone) }),
    );
    expect(await read()).toEqual({ at: null, live: true });
    articles.alter((body) => ({ ...body, data: body.data.filter(({ id }: { id: string }) => id !== gone) }));
    expect(await sync()).toMatchObject({ status: 'complete', failures: [] });
    expect(await read()).toEqual({ at: BigInt(NOW_MS), live: false });
    article.alter(null);
    articles.alter(null);
    await sync();
    await expectEqualToUpstream(workspace);
  });

  test('a Retry-After of hours ends the run without waiting or retrying', async () => {
    const workspace = await openWorkspace(few);
    workspace.sandbox.setFaults([{ kind: '429', match: '/competitors', retryAfterSeconds: 7_200 }]);
    const summary = await workspace.sync({ only: ['competitors'] });
    expect(summary.status).toBe('failed');
    expect(summary.error?.code).toBe('upstream_failed');
    const refused = workspace.sandbox.requests.filter(({ status }) => status === 429);
    expect(refused.length).toBeLessThanOrEqual(2);
    workspace.sandbox.setFaults([]);
    expect((await workspace.sync({ only: ['competitors'] })).status).toBe('complete');
  });

  test('a detail of another row is not written', async () => {
    const article = alteredBody('article');
    const workspace = await openWorkspace({ ...few, fixtures: article.fixtures });
    await workspace.sync({ only: ['articles'] });
    const [other] = await workspace.query('SELECT CAST(min(id) AS VARCHAR) AS id FROM articles');
    article.alter((body) => ({ ...body, id: other?.['id'] }));
    const summary = await workspace.sync({ only: ['article'] });
    expect(summary.status).toBe('partial');
    for (const { code, slice } of summary.failures) expect(`${code} ${slice}`).toMatch(/^bad_answer article /);
    const [row] = await workspace.query('SELECT count(*) AS n FROM articles WHERE _detail_hash IS NOT NULL');
    expect(Number(row?.['n'])).toBe(1);
  });

  test('a missing endpoint fails only its own slices', async () => {
    const alerts = {
      answer: () => {
        throw notFound('the path');
      },
    };
    const workspace = await openWorkspace({ brands: 1, prompts: 3, days: 4, fixtures: { alerts } });
    const summary = await workspace.sync();
    expect(summary).toMatchObject({ status: 'partial', failures: [{ code: 'not_found' }] });
    expect(summary.failures.map(({ slice }) => slice.split(' ')[0])).toEqual(['alerts']);
    expect(await workspace.query('SELECT DISTINCT _deleted_at FROM brands')).toEqual([{ _deleted_at: null }]);
    for (const { name } of workspace.catalogue.tables) {
      const [count] = await workspace.query(`SELECT count(*) AS n FROM "${name}"`);
      expect(Number(count?.['n']) > 0, name).toBe(name !== 'alerts');
    }
  });

  test('an endpoint that always fails does not change its rows', async () => {
    const workspace = await openWorkspace({ world: 'tiny' });
    const before = await fingerprint(workspace);
    workspace.sandbox.setFaults([{ kind: '500', match: '/alerts' }]);
    const summary = await workspace.sync({ only: ['alerts'] });
    expect(summary).toMatchObject({ status: 'partial', failures: [{ code: 'upstream_failed' }] });
    expect(workspace.sandbox.counts.byFault['500']).toBe(5);
    expect(changesOf(summary)).toEqual({});
    expect(await fingerprint(workspace)).toEqual(before);
  });
});

describe('a bad item', () => {
  const prompts = { only: ['prompts'] };

  test('is quarantined once with its reason and does not change its row', async () => {
    const { fixtures } = alteredBody('prompts', (body) => {
      body.data[0].active = 'yes';
      return body;
    });
    const workspace = await openWorkspace({ world: 'tiny', fixtures });
    const before = await fingerprint(workspace);
    for (let run = 0; run < 2; run++) {
      expect(await workspace.sync(prompts)).toMatchObject({ status: 'complete', quarantined: 1, warnings: [] });
    }
    expect(await fingerprint(workspace)).toEqual(before);
    const rows = await workspace.query('SELECT resource, table_name, reason, item FROM sync.quarantine');
    expect(rows).toEqual([
      {
        resource: 'prompts',
        table_name: 'prompts',
        reason: expect.stringMatching(/^active: /),
        item: expect.anything(),
      },
    ]);
    expect(JSON.parse(String(rows[0]?.['item']))).toMatchObject({ active: 'yes' });
  });

  test('without a key prevents deletions', async () => {
    const { fixtures } = alteredBody('prompts', (body) => {
      delete body.data[0].id;
      return { ...body, data: body.data.slice(0, 2) };
    });
    const workspace = await openWorkspace({ world: 'tiny', fixtures });
    const summary = await workspace.sync(prompts);
    expect(summary).toMatchObject({ status: 'complete', quarantined: 1, warnings: [{ code: 'deletions_skipped' }] });
    expect(await workspace.query('SELECT DISTINCT _deleted_at FROM prompts')).toEqual([{ _deleted_at: null }]);
  });

  test('that occurs twice in a page becomes one row, the last one', async () => {
    const { fixtures } = alteredBody('prompts', (body) => ({
      ...body,
      data: [{ ...body.data[0], text: 'an older text' }, ...body.data],
    }));
    const workspace = await openWorkspace({ ...few, fixtures });
    expect(await workspace.sync(prompts)).toMatchObject({ status: 'complete', quarantined: 0 });
    await expectConsistent(workspace);
    expect(await workspace.query("SELECT 1 FROM prompts WHERE text = 'an older text'")).toEqual([]);
  });
});
