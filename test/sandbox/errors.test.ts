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

// Other parameters and ranges: test/contract/request-rules.test.ts.
test('an unknown parameter of any endpoint and an invalid value are rejected with what is allowed', async () => {
  const { get, brandIds } = await open();
  const [brandId = ''] = await brandIds();
  for (const { path } of declarations.filter((declaration) => !declaration.path.includes('{articleId}'))) {
    const target = path.replace('{brandId}', brandId);
    expectError(await get(target, { surprise: '1' }), 400, 'invalid_parameter', 'surprise');
  }
  const responses = `/brands/${brandId}/responses`;
  expectError(await get(responses, { limit: '101' }), 400, 'invalid_parameter', 'limit', '1 to 100');
  expectError(await get(responses, { engine: 'no-such-engine' }), 400, 'invalid_parameter', 'engine', 'one of');
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
