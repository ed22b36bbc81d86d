import { describe, expect, test } from 'vitest';
import { readDrift } from '../../src/warehouse/ledger/drift-notes.ts';
import { type Liar, startLiar } from '../hostile/liar.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';
import { alteredBody } from './altered.ts';
import { keepPages } from './kept.ts';

const NONE = {
  unknownFields: 0,
  vanishedFields: 0,
  changedTypes: 0,
  newValues: 0,
  implausibleValues: 0,
  newParameters: 0,
  newEndpoints: 0,
};
const few = { brands: 1, prompts: 2, days: 2, seed: 31 } as const;
const complete = { status: 'complete', drift: NONE } as const;

describe('drift', () => {
  test('is not reported while upstream keeps to its specification, whatever its data', async () => {
    const workspace = await openWorkspace({ world: 'tiny' });
    expect(await driftOf(workspace)).toEqual([]);
    const { sync } = await keepPages(workspace);
    workspace.sandbox.advance({ days: 3, lateAnswers: 3, deletedPrompts: 1, deletedResponses: 3, pausedPrompts: 1 });
    expect(await sync()).toMatchObject(complete);
    await workspace.reopen();
    expect(await sync()).toMatchObject(complete);
    expect(await driftOf(workspace)).toEqual([]);
  });

  test('reports a wrong header once for all resources, with the value used; 204 is an empty list', async () => {
    let liar: Liar | undefined;
    const between = async (url: string) => {
      liar = await startLiar(url);
      return liar.baseUrl;
    };
    const workspace = await openWorkspace({ ...few, between });
    liar?.tell((exchange) => {
      exchange.headers['x-ratelimit-limit'] = '0';
      if (!exchange.path.endsWith('/alerts')) return;
      exchange.status = 204;
      exchange.body = Buffer.alloc(0);
    });
    const { sync } = await keepPages(workspace);
    const only = ['alerts', 'prompts'];
    const found = { ...NONE, implausibleValues: 1 };
    expect(await sync({ only })).toMatchObject({ status: 'complete', drift: found });
    const detail = 'allowed: 1 to 10000; used: the last plausible limit, at first 120';
    const rows = await driftOf(workspace);
    expect(rows).toMatchObject([{ path: 'header x-ratelimit-limit', detail, example: '"0"' }]);
    await workspace.reopen();
    expect(await sync({ only })).toMatchObject(complete);
    const [counted] = await driftOf(workspace);
    expect(counted?.count).toBeGreaterThan(rows[0]?.count ?? 0);
    expect(await workspace.query('SELECT count(*)::INTEGER AS n FROM alerts')).toEqual([{ n: 0 }]);
  });

  test('reports each undeclared field once and counts it', async () => {
    const workspace = await openWorkspace({ ...few, choices: { extraFields: true } });
    const { sync } = await keepPages(workspace);
    const only = ['brands', 'competitors', 'prompts', 'responses', 'alerts', 'articles', 'engines'];
    const first = await sync({ only });
    expect(first.drift?.unknownFields).toBeGreaterThan(10);
    const rows = await driftOf(workspace);
    expect(rows.filter(({ kind }) => kind === 'unknown_field')).toHaveLength(first.drift?.unknownFields ?? 0);
    const answers = rows.filter(({ resource }) => resource === 'responses');
    expect(answers.map(({ path, kind }) => `${kind} ${path}`).sort()).toEqual([
      'unknown_field zz_added',
      'unknown_field zz_flag',
    ]);
    const [held] = await workspace.query('SELECT CAST(count(*) AS INTEGER) AS n FROM responses');
    expect(answers[0]?.count).toBeGreaterThanOrEqual(Number(held?.['n']));
    expect(answers.find(({ path }) => path === 'zz_added')?.example).toContain('new in this version');
    const again = await sync({ only });
    expect(again.drift).toEqual(NONE);
    const [counted] = (await driftOf(workspace)).filter(({ resource }) => resource === 'brands');
    expect(counted?.count).toBeGreaterThan(rows.find(({ resource }) => resource === 'brands')?.count ?? 0);
  });

  test('reports new labels, but not those of the specification', async () => {
    const workspace = await openWorkspace({ ...few, days: 4 });
    const { sync } = await keepPages(workspace);
    const only = ['alerts', 'articles'];
    workspace.sandbox.setFaults([{ kind: 'unknownenums', match: '/alerts' }]);
    const first = await sync({ only });
    const alerts = await driftOf(workspace);
    expect(alerts.every(({ resource, path }) => resource === 'alerts' && path === 'type')).toBe(true);
    expect(first.drift).toEqual({ ...NONE, newValues: alerts.length });
    expect(alerts.length).toBeGreaterThan(0);
    workspace.sandbox.setFaults([{ kind: 'unknownenums', match: '/articles' }]);
    expect((await sync({ only })).drift?.newValues).toBeGreaterThan(0);
    const found = (await driftOf(workspace)).filter(({ resource }) => resource === 'articles');
    expect(new Set(found.map(({ kind }) => kind))).toEqual(new Set(['new_value']));
    expect(found.map(({ path }) => path)).toContain('status');
    expect(found.every(({ path }) => ['status', 'type', 'quality', 'format'].includes(path))).toBe(true);
  });

  test('reports values of another type, including quarantined ones', async () => {
    const workspace = await openWorkspace(few);
    const { sync } = await keepPages(workspace);
    workspace.sandbox.setFaults([{ kind: 'wrongtypes', probability: 0.5 }]);
    const { drift, quarantined } = await sync({ only: ['prompts', 'responses', 'alerts', 'articles'] });
    expect(quarantined).toBeGreaterThan(0);
    expect(drift?.changedTypes).toBeGreaterThan(0);
    const rows = (await driftOf(workspace)).filter(({ kind }) => kind === 'changed_type');
    expect(rows.some(({ detail }) => /^expected \w+, got (object|string)$/.test(detail ?? ''))).toBe(true);
    const put = await workspace.query('SELECT DISTINCT resource FROM sync.quarantine');
    for (const { resource } of put) expect(rows.map((row) => row.resource)).toContain(resource);
  });

  test('reports vanished fields at any depth and changed types', async () => {
    const prompts = alteredBody('prompts');
    const workspace = await openWorkspace({ world: 'tiny', fixtures: prompts.fixtures });
    const { sync } = await keepPages(workspace);
    const only = ['prompts'];
    expect((await sync({ only })).drift).toEqual(NONE);
    prompts.alter((body) => {
      for (const item of body.data) {
        delete item.funnelStage;
        delete item.topic?.name;
        for (const tag of item.tags) tag.colour = 'gsk_abcdefghijkl';
      }
      return body;
    });
    const second = await sync({ only });
    expect(second).toMatchObject({ status: 'complete', drift: { ...NONE, unknownFields: 1, vanishedFields: 2 } });
    const rows = await driftOf(workspace);
    expect(rows.map(({ kind, path }) => `${kind} ${path}`).sort()).toEqual([
      'unknown_field tags.colour',
      'vanished_field funnelStage',
      'vanished_field topic.name',
    ]);
    expect(JSON.stringify(rows)).not.toContain('gsk_abc');
    expect((await sync({ only })).drift).toEqual(NONE);
  });
});

async function driftOf(workspace: TestWorkspace) {
  return workspace.warehouse().database.exclusive((session) => readDrift(session.query));
}
