import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readDrift } from '../../src/warehouse/ledger/drift-notes.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';
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
const small = { brands: 1, prompts: 4, days: 6, seed: 31 } as const;

describe('drift', () => {
  test('is not reported while upstream keeps to its specification, whatever its data', async () => {
    const workspace = await openWorkspace({ ...small, brands: 2, days: 20 });
    const { sync } = await keepPages(workspace);
    expect(await sync()).toMatchObject({ status: 'complete', drift: NONE });
    workspace.sandbox.advance({ days: 3, lateAnswers: 3, deletedPrompts: 1, deletedResponses: 3, pausedPrompts: 1 });
    expect(await sync()).toMatchObject({ status: 'complete', drift: NONE });
    await workspace.reopen();
    expect(await sync()).toMatchObject({ status: 'complete', drift: NONE });
    expect(await driftOf(workspace)).toEqual([]);
  });

  test('reports each undeclared field once and counts it', async () => {
    const workspace = await openWorkspace({ ...small, choices: { extraFields: true } });
    const { sync } = await keepPages(workspace);
    const first = await sync();
    expect(first.drift?.unknownFields).toBeGreaterThan(10);
    const rows = await driftOf(workspace);
    const answers = rows.filter(({ resource }) => resource === 'responses');
    expect(answers.map(({ path, kind }) => `${kind} ${path}`).sort()).toEqual([
      'unknown_field zz_added',
      'unknown_field zz_flag',
    ]);
    const [held] = await workspace.query('SELECT CAST(count(*) AS INTEGER) AS n FROM responses');
    expect(answers[0]?.count).toBeGreaterThanOrEqual(Number(held?.['n']));
    expect(answers.find(({ path }) => path === 'zz_added')?.example).toContain('new in this version');
    const again = await sync();
    expect(again.drift).toEqual(NONE);
    const [counted] = (await driftOf(workspace)).filter(({ resource }) => resource === 'brands');
    expect(counted?.count).toBeGreaterThan(rows.find(({ resource }) => resource === 'brands')?.count ?? 0);
  });

  test('reports new labels, but not those of the specification', async () => {
    const workspace = await openWorkspace(small);
    const { sync } = await keepPages(workspace);
    workspace.sandbox.setFaults([{ kind: 'unknownenums', match: '/alerts' }]);
    const first = await sync();
    const alerts = await driftOf(workspace);
    expect(alerts.every(({ resource, path }) => resource === 'alerts' && path === 'type')).toBe(true);
    expect(first.drift).toEqual({ ...NONE, newValues: alerts.length });
    expect(alerts.length).toBeGreaterThan(0);
    workspace.sandbox.setFaults([{ kind: 'unknownenums', match: '/articles' }]);
    expect((await sync()).drift?.newValues).toBeGreaterThan(0);
    const found = (await driftOf(workspace)).filter(({ resource }) => resource === 'articles');
    expect(new Set(found.map(({ kind }) => kind))).toEqual(new Set(['new_value']));
    expect(found.map(({ path }) => path)).toContain('status');
    expect(found.every(({ path }) => ['status', 'type', 'quality', 'format'].includes(path))).toBe(true);
  });

  test('reports values of another type, including quarantined ones', async () => {
    const workspace = await openWorkspace(small);
    const { sync } = await keepPages(workspace);
    workspace.sandbox.setFaults([{ kind: 'wrongtypes', probability: 0.5 }]);
    const { drift, quarantined } = await sync();
    expect(quarantined).toBeGreaterThan(0);
    expect(drift?.changedTypes).toBeGreaterThan(0);
    const rows = (await driftOf(workspace)).filter(({ kind }) => kind === 'changed_type');
    expect(rows.some(({ detail }) => /^expected \w+, got (object|string)$/.test(detail ?? ''))).toBe(true);
    const put = await workspace.query('SELECT DISTINCT resource FROM sync.quarantine');
    for (const { resource } of put) expect(rows.map((row) => row.resource)).toContain(resource);
  });

  test('reports vanished fields at any depth and changed types', async () => {
    const workspace = await openWorkspace(small);
    const { sync } = await keepPages(workspace);
    expect((await sync()).drift).toEqual(NONE);
    const bent = await bendingProxy(workspace, (body) => {
      for (const item of listOf(body)) {
        delete item['funnelStage'];
        if ('topic' in item && isObject(item['topic'])) delete item['topic']['name'];
        if (Array.isArray(item['tags'])) for (const tag of item['tags'] as Json[]) tag['colour'] = 'gsk_abcdefghijkl';
      }
    });
    const second = await sync({ baseUrl: bent, only: ['prompts'] });
    expect(second).toMatchObject({ status: 'complete', drift: { ...NONE, unknownFields: 1, vanishedFields: 2 } });
    const rows = await driftOf(workspace);
    expect(rows.map(({ kind, path }) => `${kind} ${path}`).sort()).toEqual([
      'unknown_field tags.colour',
      'vanished_field funnelStage',
      'vanished_field topic.name',
    ]);
    expect(JSON.stringify(rows)).not.toContain('gsk_abc');
    expect((await sync({ baseUrl: bent, only: ['prompts'] })).drift).toEqual(NONE);
  });
});

type Json = Record<string, unknown>;

async function driftOf(workspace: TestWorkspace) {
  return workspace.warehouse().database.exclusive((session) => readDrift(session.query));
}

// A proxy that edits upstream's responses.
async function bendingProxy({ sandbox }: TestWorkspace, bend: (body: unknown) => void): Promise<string> {
  const { origin, pathname } = new URL(sandbox.baseUrl);
  const server = createServer((request, response) => {
    const headers = { authorization: String(request.headers.authorization) };
    fetch(`${origin}${request.url}`, { headers })
      .then(async (answer) => {
        const body = (await answer.json()) as unknown;
        bend(body);
        response.writeHead(answer.status, { date: answer.headers.get('date') ?? '' }).end(JSON.stringify(body));
      })
      .catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`;
}

function listOf(body: unknown): Json[] {
  return isObject(body) && Array.isArray(body['data']) ? (body['data'] as Json[]) : [];
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
