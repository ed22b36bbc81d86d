import { describe, expect, test } from 'vitest';
import { fixtures } from '../../schemas/fixtures/all.ts';
import type { Workspace } from '../../schemas/fixtures/world/model.ts';
import { type Fixture, notFound } from '../../src/sandbox/fixture.ts';
import type { SyncStats } from '../../src/sync/sync-stats.ts';
import { NOW_MS } from '../support/clocks.ts';
import { expectConsistent, expectEqualToUpstream, fingerprint } from '../support/compare.ts';
import { changesOf, openWorkspace } from '../support/workspace.ts';

type Answering = Extract<Fixture<Workspace>, { answer: unknown }>;

// Calls `step` once, after `requests` requests of a run.
function after(requests: number, step: () => void): (stats: SyncStats) => void {
  let done = false;
  return (stats) => {
    if (done || stats.requests < requests) return;
    done = true;
    step();
  };
}

describe('a run stops', () => {
  test.for([
    { state: 'disabled', code: 'unauthorized', status: 401 },
    { state: 'unplanned', code: 'plan_required', status: 403 },
  ] as const)('at once if the key becomes $state, and keeps committed pages', async ({ state, code, status }) => {
    const workspace = await openWorkspace();
    const { sandbox } = workspace;
    const summary = await workspace.sync({ onProgress: after(25, () => sandbox.setKey(sandbox.key, state)) });
    expect(summary).toMatchObject({ status: 'failed', error: { code } });
    // Requests in flight still get responses; none is sent after the first rejection.
    expect(sandbox.requests.filter((request) => request.status === status).length).toBeLessThanOrEqual(8);
    expect(sandbox.requests.length).toBeLessThan(45);
    await expectConsistent(workspace);
    const kept = await workspace.query('SELECT sum(inserted) AS rows FROM sync.requests');
    expect(Number(kept[0]?.['rows'])).toBeGreaterThan(0);
    expect(await workspace.query('SELECT status FROM sync.runs')).toEqual([{ status: 'failed' }]);

    sandbox.setKey(sandbox.key, 'active');
    expect(await workspace.sync()).toMatchObject({ status: 'complete' });
    await expectEqualToUpstream(workspace);
  });

  test('if upstream is unreachable', async () => {
    const workspace = await openWorkspace();
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
    const workspace = await openWorkspace();
    const id = '00000000-0000-4000-8000-000000000000';
    const summary = await workspace.sync({ brands: [id] });
    expect(summary).toMatchObject({ status: 'complete', failures: [] });
    expect(summary.warnings).toContainEqual(
      expect.objectContaining({ code: 'not_found', message: expect.stringContaining(id) }),
    );
  });

  test('a brand deleted during a run is marked as deleted, and the run is complete', async () => {
    const workspace = await openWorkspace();
    const { world } = workspace.sandbox;
    const gone = world.brands[1]?.id;
    const summary = await workspace.sync({ onProgress: after(8, () => world.brands.pop()) });
    expect(summary).toMatchObject({ status: 'complete', failures: [] });
    expect(workspace.sandbox.counts.byStatus['404']).toBeGreaterThan(0);
    const marked = 'SELECT CAST(id AS VARCHAR) AS id FROM brands WHERE _deleted_at IS NOT NULL';
    expect(await workspace.query(marked)).toEqual([{ id: gone }]);
    const [ledger] = await workspace.query('SELECT count(*) AS requests FROM sync.requests');
    expect(ledger).toEqual({ requests: BigInt(workspace.sandbox.counts.total) });
    await workspace.sync();
    expect(await workspace.query(marked)).toEqual([{ id: gone }]);
    await expectEqualToUpstream(workspace);
  });

  test('a row whose detail returns 404 stays while it is listed; once unlisted it is marked with its children', async () => {
    let gone: string | null = null;
    let isListed = true;
    const article: Answering = {
      answer: (question) => {
        if (question.path['articleId'] === gone) throw notFound('the article');
        return (fixtures['article'] as Answering).answer(question);
      },
    };
    const articles: Answering = {
      answer: (question) => {
        const body = (fixtures['articles'] as Answering).answer(question) as { data: { id: string }[] };
        return isListed ? body : { ...body, data: body.data.filter(({ id }) => id !== gone) };
      },
    };
    const workspace = await openWorkspace({ brands: 1, fixtures: { article, articles } });
    await workspace.sync();
    const [chosen] = await workspace.query('SELECT CAST(min(article_id) AS VARCHAR) AS id FROM article_sources');
    gone = String(chosen?.['id']);
    const read = async () => {
      const [row] = await workspace.query(`SELECT epoch_ms(_deleted_at) AS at FROM articles WHERE id = '${gone}'`);
      const [live] = await workspace.query(
        `SELECT count(*) > 0 AS live FROM article_sources WHERE article_id = '${gone}' AND _deleted_at IS NULL`,
      );
      return { ...row, ...live };
    };
    // Details are requested only for changed rows, and this row did not change.
    const listed = await workspace.sync({ full: true });
    expect(listed).toMatchObject({ status: 'complete', failures: [] });
    expect(listed.warnings).toContainEqual(
      expect.objectContaining({ code: 'not_found', chain: expect.stringContaining(String(gone)) }),
    );
    expect(await read()).toEqual({ at: null, live: true });
    isListed = false;
    expect(await workspace.sync()).toMatchObject({ status: 'complete', failures: [] });
    expect(await read()).toEqual({ at: BigInt(NOW_MS), live: false });
    gone = null;
    await workspace.sync();
    await expectEqualToUpstream(workspace);
  });

  test('a Retry-After of hours ends the run without waiting or retrying', async () => {
    const workspace = await openWorkspace();
    workspace.sandbox.setFaults([{ kind: '429', match: '/competitors', retryAfterSeconds: 7_200 }]);
    const summary = await workspace.sync();
    expect(summary.status).toBe('failed');
    expect(summary.error?.code).toBe('upstream_failed');
    const refused = workspace.sandbox.requests.filter(({ status }) => status === 429);
    expect(refused.length).toBeLessThanOrEqual(2);
    workspace.sandbox.setFaults([]);
    expect((await workspace.sync()).status).toBe('complete');
  });

  test('a detail of another row is not written', async () => {
    const workspace = await openWorkspace();
    await workspace.sync();
    const before = await workspace.query('SELECT id, _detail_hash FROM articles ORDER BY id');
    const other = String(before[0]?.['id']);
    const listed = fixtures['article'] as Answering;
    const lying = await openWorkspace({
      fixtures: {
        article: { ...listed, answer: (question) => ({ ...(listed.answer(question) as object), id: other }) },
      },
    });
    const summary = await lying.sync();
    expect(summary.status).toBe('partial');
    expect(summary.failures.every(({ code, chain }) => code === 'bad_answer' && chain.startsWith('article '))).toBe(
      true,
    );
    const [row] = await lying.query('SELECT count(*) AS n FROM articles WHERE _detail_hash IS NOT NULL');
    expect(Number(row?.['n'])).toBe(1);
  });

  test('a missing endpoint fails only its own slices', async () => {
    const missing: Fixture<Workspace> = {
      answer: () => {
        throw notFound('the path');
      },
    };
    const workspace = await openWorkspace({ fixtures: { alerts: missing } });
    const summary = await workspace.sync();
    expect(summary.status).toBe('partial');
    expect(summary.failures.map(({ chain, code }) => [chain.split(' ')[0], code])).toEqual([
      ['alerts', 'not_found'],
      ['alerts', 'not_found'],
    ]);
    expect(await workspace.query('SELECT DISTINCT _deleted_at FROM brands')).toEqual([{ _deleted_at: null }]);
    for (const { name } of workspace.catalogue.tables) {
      const [count] = await workspace.query(`SELECT count(*) AS n FROM "${name}"`);
      expect(Number(count?.['n']) > 0, name).toBe(name !== 'alerts');
    }
  });

  test('an endpoint that always fails does not change its rows', async () => {
    const workspace = await openWorkspace({ brands: 1 });
    await workspace.sync();
    const before = await fingerprint(workspace);
    workspace.sandbox.setFaults([{ kind: '500', match: '/alerts' }]);
    const summary = await workspace.sync();
    expect(summary).toMatchObject({ status: 'partial', failures: [{ code: 'upstream_failed' }] });
    expect(workspace.sandbox.counts.byFault['500']).toBe(5);
    expect(changesOf(summary)).toEqual({});
    expect(await fingerprint(workspace)).toEqual(before);
  });
});

describe('a bad item', () => {
  // biome-ignore lint/suspicious/noExplicitAny: bodies are bent here
  type Body = any;
  function bending(name: string, bend: (items: Body[]) => Body[]): Record<string, Fixture<Workspace>> {
    const fixture = fixtures[name] as Answering;
    return {
      [name]: {
        answer: (question) => {
          const body = fixture.answer(question) as Body;
          return { ...body, data: bend(body.data.map((item: Body) => ({ ...item }))) };
        },
      },
    };
  }

  test('is quarantined once with its reason and does not change its row', async () => {
    let isBad = false;
    const bent = bending('prompts', (items) => {
      if (isBad) items[0].active = 'yes';
      return items;
    });
    const workspace = await openWorkspace({ brands: 1, fixtures: bent });
    await workspace.sync();
    const before = await fingerprint(workspace);
    isBad = true;
    for (let run = 0; run < 2; run++) {
      expect(await workspace.sync()).toMatchObject({ status: 'complete', quarantined: 1, warnings: [] });
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
    let isBad = false;
    const bent = bending('prompts', (items) => {
      if (!isBad) return items;
      delete items[0].id;
      return items.slice(0, 3);
    });
    const workspace = await openWorkspace({ brands: 1, fixtures: bent });
    await workspace.sync();
    isBad = true;
    const summary = await workspace.sync();
    expect(summary).toMatchObject({ status: 'complete', quarantined: 1, warnings: [{ code: 'deletions_skipped' }] });
    expect(await workspace.query('SELECT DISTINCT _deleted_at FROM prompts')).toEqual([{ _deleted_at: null }]);
  });

  test('that occurs twice in a page becomes one row, the last one', async () => {
    const bent = bending('prompts', (items) => [{ ...items[0], text: 'an older text' }, ...items]);
    const workspace = await openWorkspace({ brands: 1, fixtures: bent });
    expect(await workspace.sync()).toMatchObject({ status: 'complete', quarantined: 0 });
    await expectConsistent(workspace);
    expect(await workspace.query("SELECT 1 FROM prompts WHERE text = 'an older text'")).toEqual([]);
  });
});
