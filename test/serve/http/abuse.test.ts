import { describe, expect, it } from 'vitest';
import { type ErrorCode, errorTable } from '../../../src/base/errors.ts';
import { post } from '../mcp/support.ts';
import { openServer, readRaw, requestText, sendRaw, serverBefore } from './support.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const server = serverBefore();

/** Checks that an error has the usual form: status, code, envelope, request id in header and body. Returns its headers. */
function expectRefusal(text: string, code: ErrorCode, hasBody = true): Record<string, string> {
  const answer = readRaw(text);
  const kind = errorTable[code];
  expect(answer.status, text).toBe('status' in kind ? kind.status : 0);
  expect(answer.headers['content-type'], text).toBe('application/json; charset=utf-8');
  expect(answer.headers['x-request-id']).toMatch(UUID);
  if (!hasBody) return answer.headers;
  const parsed = JSON.parse(answer.body) as { error: Record<string, string> };
  expect(Object.keys(parsed)).toEqual(['error']);
  const { parameter: _, allowed: __, ...always } = parsed.error;
  expect(Object.keys(always)).toEqual(['code', 'message', 'requestId', 'docUrl']);
  expect(always['docUrl']).toBe(`/v1/docs/errors#${code}`);
  expect(always['code'], text).toBe(code);
  expect(always['requestId']).toBe(answer.headers['x-request-id']);
  expect(always['message']).not.toMatch(/gsk_\w|\n\s+at |node_modules/);
  return answer.headers;
}

const ask = async (method: string, target: string, headers: Record<string, string> = {}): Promise<string> =>
  (await server().raw(target, headers, method)).text;

/** Queries of `/metrics` of a brand that name or give a parameter wrongly. */
const QUERIES = [
  'engine=%00',
  'engine=%ED%A0%80',
  'engine=%',
  `engine=${'x'.repeat(4_000)}`,
  'from=2026-01-01&from=2026-01-01',
  'from=2026-02-30',
  'from=2026-01-01%0d%0aX-Evil:%201',
  '__proto__=1',
  'constructor=1',
  'hasOwnProperty=1&toString=2',
  'nobody=1',
  '=',
  'gsk_secretsecret=gsk_secretsecret',
];

const MISSING = [
  ...['%ED%A0%80', '%', '%2', '%00', '..%2f..%2fetc%2fpasswd', '__proto__', 'gsk_secretsecret', 'x'.repeat(5_000)].map(
    (id) => `/v1/brands/${id}`,
  ),
  ...[
    `/v1/${'x'.repeat(5_000)}`,
    `/v1/${'x/'.repeat(3_000)}`,
    `/v1/${'%'.repeat(3_000)}`,
    '/v1',
    '/v1/',
    '/v1/brands/',
  ],
  ...['/v1//brands', '/v1/BRANDS', '/v1/../v1/brands', '/v1/constructor', '/', '/metrics', '*'],
];

describe('a malformed URL', () => {
  it('is rejected with the name of the parameter or with 404', async () => {
    const brand = `/v1/brands/${server().brandId}`;
    for (const query of QUERIES) expectRefusal(await ask('GET', `${brand}/metrics?${query}`), 'invalid_parameter');
    expectRefusal(await ask('GET', `${brand}/responses?limit=1e1`), 'invalid_parameter');
    for (const target of MISSING) expectRefusal(await ask('GET', target), 'not_found');
    const absolute = readRaw(await ask('GET', `http://127.0.0.1:${server().port}/v1/brands`));
    expect(absolute.status).toBe(200);
  });

  it('is rejected with 414 from 8 kB, even if the parser rejects it first', async () => {
    for (const length of [8_193, 12_000, 16_384, 20_000, 31_000, 40_000, 60_000])
      expectRefusal(await ask('GET', `/v1/brands?${'x'.repeat(length)}`), 'uri_too_long');
    expect(readRaw(await ask('GET', `/v1/brands/${'x'.repeat(8_000)}`)).status).toBe(404);
  });
});

/** Requests that are no valid HTTP, and their errors. */
const INVALID: readonly (readonly [string, ErrorCode])[] = [
  ['GET /v1/bra\u0000nds HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n', 'bad_request'],
  ['GET /v1/brands HTTP/1.1\r\nConnection: close\r\n\r\n', 'bad_request'],
  [
    'POST /v1/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n',
    'bad_request',
  ],
  [`GET /v1/brands HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${'x'.repeat(33_000)}\r\n\r\n`, 'headers_too_large'],
  [`GET /v1/brands HTTP/1.1\r\nHost: 127.0.0.1\r\n${'X-Many: and more\r\n'.repeat(2_500)}\r\n`, 'headers_too_large'],
];

describe('invalid HTTP', () => {
  it('is rejected with the usual error envelope', async () => {
    await server().log();
    for (const [text, code] of INVALID) {
      const headers = expectRefusal(await sendRaw(server().port, text), code);
      expect(headers).toMatchObject({ connection: 'close', 'x-content-type-options': 'nosniff' });
    }
    expect((await server().log()).filter(({ status }) => status === 431)).toHaveLength(2);
    const request = requestText('GET', '/v1/brands', { 'X-Api-Key': server().key });
    for (const second of ['Host: 127.0.0.1', 'hOST: evil.example']) {
      const twice = request.replace('\r\n\r\n', `\r\n${second}\r\n\r\n`);
      expectRefusal(await sendRaw(server().port, twice), 'bad_request');
    }
  });

  it('is disconnected if the request takes too long', async () => {
    const own = await openServer(server().copy, { limits: { headersTimeoutMs: 200, requestTimeoutMs: 200 } });
    const slow = sendRaw(own.port, 'GET /v1/brands HTTP/1.1\r\nHost: 127.0.0.1\r\n');
    const headers = {
      Authorization: `Bearer ${own.key}`,
      'Content-Type': 'application/json',
      Connection: 'keep-alive',
    };
    const slowBody = sendRaw(own.port, requestText('POST', '/v1/mcp', { ...headers, 'Content-Length': '100' }), '{"a"');
    expectRefusal(await slow, 'request_timeout');
    await slowBody;
    expect((await own.get('/brands')).status).toBe(200);
  });
});

describe('HTTP methods', () => {
  it('that are not supported get 405 with the allowed methods', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      const headers = expectRefusal(await ask(method, '/v1/brands'), 'method_not_allowed');
      expect(headers['allow']).toBe('GET, HEAD');
    }
    const odd = { Authorization: `Bearer ${server().key}`, 'Content-Type': 'what is this', 'Content-Length': '3' };
    const withBody = `${requestText('POST', '/v1/brands', odd)}abc`;
    expectRefusal(await sendRaw(server().port, withBody), 'method_not_allowed');
    expect(expectRefusal(await ask('PUT', '/v1/mcp'), 'method_not_allowed')['allow']).toBe('POST, GET, DELETE');
    expect(expectRefusal(await ask('POST', '/v1/openapi.json'), 'method_not_allowed')['allow']).toBe('GET, HEAD');
    expectRefusal(await ask('POST', '/livez'), 'method_not_allowed');
    expectRefusal(await ask('POST', '/v1/nothing'), 'not_found');
  });

  it('HEAD returns the headers of GET without the body', async () => {
    const get = await server().get('/brands', { headers: { 'accept-encoding': 'identity' } });
    const length = String(Buffer.byteLength(await get.text()));
    const head = await server().raw('/v1/brands', {}, 'HEAD');
    expect(head).toMatchObject({ status: 200, body: '', headers: { 'content-length': length } });
    for (const name of ['etag', 'content-type', 'x-data-as-of', 'x-data-coverage', 'cache-control', 'vary'])
      expect(head.headers[name], name).toBe(get.headers.get(name));
    const missing = await ask('HEAD', '/v1/nothing');
    expectRefusal(missing, 'not_found', false);
    expect(readRaw(missing).body).toBe('');
  });
});

describe('request bodies', () => {
  it('above 1 MB are rejected, with or without Content-Length', async () => {
    const { port, key } = server();
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const big = 'x'.repeat(1024 * 1024 + 1);
    const length = { 'Content-Length': String(big.length) };
    expectRefusal(await sendRaw(port, requestText('POST', '/v1/mcp', { ...headers, ...length })), 'body_too_large');
    const chunked = requestText('POST', '/v1/mcp', { ...headers, 'Transfer-Encoding': 'chunked' });
    const chunk = `${big.length.toString(16)}\r\n${big}\r\n`;
    const answer = await sendRaw(port, chunked, chunk).catch((thrown: Error) => thrown.message);
    expectRefusal(answer, 'body_too_large');
    expectRefusal(await sendRaw(port, requestText('POST', '/v1/mcp', length)), 'unauthorized');
  });

  it('of JSON that is nested deeper than 64 levels are an invalid parameter', async () => {
    const send = async (body: string) => {
      const response = await post(server().mcpUrl, body, { 'x-api-key': server().key });
      return { status: response.status, text: await response.text() };
    };
    const nested = (levels: number): string => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
    const flat = [JSON.stringify('[{'.repeat(100)), JSON.stringify({ text: '"\\"[['.repeat(100) })];
    for (const body of [nested(64), ...flat]) expect((await send(body)).text).not.toContain('invalid_parameter');
    for (const levels of [66, 100_000]) {
      const { status, text } = await send(nested(levels));
      expect(status).toBe(400);
      expect(JSON.parse(text)).toMatchObject({ error: { code: 'invalid_parameter' } });
      expect(text).toContain('64');
    }
  });
});
