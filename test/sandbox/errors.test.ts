import { expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { type Answered, NOW_MS, open } from './helpers.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NOBODY = '00000000-0000-4000-8000-000000000000';

function expectError(answered: Answered, status: number, code: string, ...parts: string[]): void {
  expect(answered.status).toBe(status);
  expect(Object.keys(answered.body)).toEqual(['error']);
  expect(Object.keys(answered.body.error)).toEqual(['code', 'message', 'requestId']);
  expect(answered.body.error.code).toBe(code);
  expect(answered.body.error.requestId).toMatch(UUID);
  for (const part of parts) expect(answered.body.error.message).toContain(part);
  expect(answered.headers.get('x-ratelimit-remaining')).toBeNull();
  expect(answered.headers.get('content-type')).toContain('application/json');
}

test('a key is accepted in either header and rejected if missing, unknown, disabled, expired or without a plan', async () => {
  const { sandbox, get } = await open();
  const at = (headers: Record<string, string>): Promise<Answered> => get('/brands', {}, { headers });
  expect((await at({ authorization: `Bearer ${sandbox.key}` })).status).toBe(200);
  expect((await at({ 'x-api-key': sandbox.key })).status).toBe(200);
  expectError(await at({}), 401, 'unauthorized');
  expectError(await at({ authorization: 'Bearer gsk_other' }), 401, 'unauthorized');
  expectError(await at({ authorization: `Basic ${sandbox.key}` }), 401, 'unauthorized');
  for (const state of ['disabled', 'expired'] as const) {
    sandbox.setKey(sandbox.key, state);
    expectError(await at({ 'x-api-key': sandbox.key }), 401, 'unauthorized', state);
  }
  sandbox.setKey(sandbox.key, 'unplanned');
  expectError(await at({ 'x-api-key': sandbox.key }), 403, 'plan_required');
  sandbox.setKey(sandbox.key, 'active');
  sandbox.setKey('gsk_second', 'active');
  expect((await at({ 'x-api-key': 'gsk_second' })).status).toBe(200);
});

test('unknown ids return 404 on every endpoint with ids', async () => {
  const { get, brandIds } = await open();
  const [brandId] = await brandIds();
  expectError(await get('/nowhere'), 404, 'not_found');
  expectError(await get('/brands/'), 404, 'not_found');
  for (const { path } of declarations.filter((declaration) => declaration.path.includes('{'))) {
    expectError(await get(path.replace(/\{\w+\}/g, NOBODY)), 404, 'not_found', NOBODY);
    expectError(await get(path.replace(/\{\w+\}/g, 'no-uuid%00')), 404, 'not_found');
    const known = path.replace('{brandId}', brandId as string);
    if (known.includes('{')) expectError(await get(known.replace(/\{\w+\}/, NOBODY)), 404, 'not_found', NOBODY);
  }
  const outside = await fetch(`${(await open()).sandbox.baseUrl.replace('/v1', '')}/brands`);
  expect(outside.status).toBe(401);
});

test('every method except GET is rejected', async () => {
  const { sandbox, get } = await open();
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const init = { method, headers: { 'x-api-key': sandbox.key } };
    const answered = await get('/brands', {}, init);
    expectError(answered, 405, 'method_not_allowed');
    expect(answered.headers.get('allow')).toBe('GET');
  }
});

test('every parameter of every endpoint is validated, and unknown or repeated parameters are rejected', async () => {
  const { get, brandIds } = await open();
  const [brandId = ''] = await brandIds();
  const bad: Record<string, readonly (readonly [given: string, says: string])[]> = {
    day: [
      ['2026-02-30', 'YYYY-MM-DD'],
      ['15.3.2026', 'YYYY-MM-DD'],
      ['', 'YYYY-MM-DD'],
    ],
    uuid: [['1', 'UUID']],
    flag: [
      ['yes', 'true or false'],
      ['1', 'true or false'],
    ],
    limit: [
      ['0', '1 to'],
      ['-1', '1 to'],
      ['1.5', '1 to'],
      ['1e1', '1 to'],
      ['', '1 to'],
    ],
    choice: [['something', 'one of']],
    text: [
      ['no-such-engine', 'one of'],
      ['', 'empty'],
    ],
    cursor: [['', 'cursor']],
  };
  for (const { path, query } of declarations.filter((declaration) => !declaration.path.includes('{articleId}'))) {
    const target = path.replace('{brandId}', brandId);
    expectError(await get(target, { surprise: '1' }), 400, 'invalid_parameter', 'surprise');
    for (const [name, { kind, max, values }] of Object.entries(query)) {
      for (const [given, says] of bad[kind] ?? []) {
        expectError(await get(target, { [name]: given }), 400, 'invalid_parameter', name, says);
      }
      if (values !== undefined) expectError(await get(target, { [name]: 'x' }), 400, 'invalid_parameter', ...values);
      if (max === undefined) continue;
      expect((await get(target, { [name]: max })).status).toBe(200);
      expectError(await get(target, { [name]: max + 1 }), 400, 'invalid_parameter', String(max));
      expectError(await get(`${target}?${name}=1&${name}=2`), 400, 'invalid_parameter', name, 'once');
    }
  }
});

test('ranges of every endpoint with days: defaults, echo, one day, 366 days and rejections', async () => {
  const { get, brandIds } = await open();
  const [brandId = ''] = await brandIds();
  const ranged = declarations.filter(({ query }) => query['from'] !== undefined);
  expect(ranged.length).toBeGreaterThan(5);
  let echoing = 0;
  for (const { path } of ranged) {
    const target = path.replace('{brandId}', brandId);
    const standard = (await get(target)).body;
    if ('from' in standard) {
      echoing++;
      expect(standard).toMatchObject({ from: '2026-02-14', to: '2026-03-15' });
      expect((await get(target, { to: '2026-03-01' })).body).toMatchObject({ from: '2026-01-31', to: '2026-03-01' });
      expect((await get(target, { from: '2026-03-01' })).body).toMatchObject({ from: '2026-03-01', to: '2026-03-15' });
    }
    expect((await get(target, { from: '2026-03-10', to: '2026-03-10' })).status).toBe(200);
    expect((await get(target, { from: '2024-01-01', to: '2024-12-31' })).status).toBe(200);
    expectError(await get(target, { from: '2024-01-01', to: '2025-01-01' }), 400, 'invalid_parameter', 'from', '366');
    expectError(await get(target, { from: '2026-03-11', to: '2026-03-10' }), 400, 'invalid_parameter', 'from');
    expectError(await get(target, { from: '2026-03-16' }), 400, 'invalid_parameter', 'from');
  }
  expect(echoing).toBe(5);
});

test('the Date header is the time of the world', async () => {
  const { get, sandbox } = await open();
  expect(Date.parse((await get('/brands')).headers.get('date') as string)).toBe(NOW_MS);
  sandbox.advance({ days: 2 });
  expect(Date.parse((await get('/brands')).headers.get('date') as string)).toBe(NOW_MS + 2 * 86_400_000);
});

test('the journal records every request with only the first characters of its key', async () => {
  const { sandbox, get } = await open();
  await get('/brands', {});
  await get('/nowhere', { a: 'b' });
  expect(sandbox.requests).toMatchObject([
    { method: 'GET', path: '/v1/brands', query: '', status: 200, key: 'gsk_sand', fault: null },
    { method: 'GET', path: '/v1/nowhere', query: 'a=b', status: 404 },
  ]);
  expect(sandbox.counts).toEqual({ total: 2, byStatus: { 200: 1, 404: 1 }, byFault: {} });
  expect(JSON.stringify(sandbox.requests)).not.toContain(sandbox.key);
});
